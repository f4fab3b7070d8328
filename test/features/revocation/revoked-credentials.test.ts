import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { withCredential } from "../../../src/machinery/authentication/presented-credential.ts";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import type { Revocation } from "../../../src/features/revocation/revocations.ts";
import { RevokedCredentials } from "../../../src/features/revocation/revoked-credentials.ts";

type Spec = Revocation["spec"];
interface Token {
  readonly id?: string;
  readonly account: string;
  readonly issuedAtSeconds?: number;
}

const userOf = ({ id, account, issuedAtSeconds }: Token): UserInfo =>
  withCredential(
    { username: `system:serviceaccount:team:${account}`, groups: [], extra: {} },
    { type: "token", id, issuedAtSeconds },
  );
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** The rule, without an index. */
const isRevokedBy = ({ id, account, issuedAtSeconds = -Infinity }: Token, { token }: Spec): boolean =>
  token !== undefined &&
  (token.id === undefined
    ? (token.serviceAccount === undefined || token.serviceAccount.name === account) &&
      (token.issuedBefore === undefined || issuedAtSeconds * 1000 < Date.parse(token.issuedBefore))
    : token.id === id);

const seconds = fc.integer({ min: 0, max: 5 });
const account = fc.constantFrom("one", "two");
const id = fc.constantFrom("a", "b", "\u0000", "__proto__", "\ud800");
const spec: fc.Arbitrary<Spec> = fc.oneof(
  id.map((one) => ({ token: { id: one } })),
  account.map((name) => ({ token: { serviceAccount: { namespace: "team", name } } })),
  fc.tuple(account, seconds).map(([name, second]) => ({
    token: { serviceAccount: { namespace: "team", name }, issuedBefore: at(second) },
  })),
  seconds.map((second) => ({ token: { issuedBefore: at(second) } })),
);
const token: fc.Arbitrary<Token> = fc.record({ id, account, issuedAtSeconds: seconds }, { requiredKeys: ["account"] });

describe("revoked credentials", () => {
  it("are those that a current revocation names, whatever was added and removed before", () => {
    fc.assert(
      fc.property(
        fc.array(spec, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        token,
        (added, removals, one) => {
          const revoked = new RevokedCredentials();
          const left = [...added];
          for (const each of added) revoked.add(each);
          revoked.clear();
          for (const each of added) revoked.add(each);
          for (const removal of removals) {
            const [gone] = left.splice(removal % Math.max(left.length, 1), 1);
            if (gone !== undefined) revoked.remove(gone);
          }
          assert.equal(revoked.size, left.length);
          assert.equal(
            revoked.refusalOf(userOf(one)) !== undefined,
            left.some((each) => isRevokedBy(one, each)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it("are those before the latest time that is left of an account, in whatever order its times come and go", () => {
    const [one, two, three] = [1, 2, 3].map((second): Spec => ({ token: { issuedBefore: at(second) } }));
    assert.ok(one && two && three);
    const orders = [
      [one, two, three],
      [one, three, two],
      [two, one, three],
      [two, three, one],
      [three, one, two],
      [three, two, one],
    ];
    for (const [added, removed] of orders.flatMap((coming) => orders.map((going) => [coming, going] as const))) {
      const revoked = new RevokedCredentials();
      const left = new Set(added);
      for (const each of added) revoked.add(each);
      for (const each of removed) {
        revoked.remove(each);
        left.delete(each);
        for (const issuedAtSeconds of [0, 1, 2, 3]) {
          const sent: Token = { account: "one", issuedAtSeconds };
          const isRevoked = [...left].some((revocation) => isRevokedBy(sent, revocation));
          assert.equal(revoked.refusalOf(userOf(sent)) !== undefined, isRevoked);
        }
      }
    }
  });

  it("never include users whose credential has no identity", () => {
    const revoked = new RevokedCredentials();
    revoked.add({ token: { serviceAccount: { namespace: "team", name: "one" } } });
    revoked.add({ token: { issuedBefore: at(1e9) } });
    const username = "system:serviceaccount:team:one";
    assert.equal(revoked.refusalOf({ username, groups: [], extra: {} }), undefined);
  });

  it("are certificates by exactly their names: a pattern is only text", () => {
    const of = (subject: string, serialNumber = "1", fingerprint = "f"): string | undefined =>
      revoked.refusalOf(
        withCredential(
          { username: "x", groups: [], extra: {} },
          { type: "certificate", subject, serialNumber, fingerprint, issuer: "CN=ca", notBefore: 1000 },
        ),
      );
    const revoked = new RevokedCredentials();
    revoked.add({ certificate: { subject: "CN=*" } });
    revoked.add({ certificate: { subject: "CN=dated", issuedBefore: at(1) } });
    revoked.add({ certificate: { issuer: "CN=ca", serialNumber: "2" } });
    revoked.add({ certificate: { issuer: "CN=other", serialNumber: "3" } });
    assert.equal(of("CN=web"), undefined);
    assert.match(of("CN=*") ?? "", /revoked/);
    assert.equal(of("CN=dated"), undefined);
    assert.match(of("CN=web", "2") ?? "", /revoked/);
    assert.equal(of("CN=web", "3"), undefined);
    assert.equal(of("CN=web", "1"), undefined);
    const spec = { certificate: { fingerprint: "e" } };
    revoked.add(spec);
    assert.match(of("CN=web", "1", "e") ?? "", /revoked/);
    assert.equal(of("CN=web", "1", "ee"), undefined);
    revoked.remove(spec);
    assert.equal(of("CN=web", "1", "e"), undefined);
    revoked.add(spec);
    revoked.clear();
    revoked.add({ certificate: { subject: "CN=another" } });
    assert.deepEqual([of("CN=*"), of("CN=web", "2"), of("CN=web", "1", "e")], [undefined, undefined, undefined]);
  });
});
