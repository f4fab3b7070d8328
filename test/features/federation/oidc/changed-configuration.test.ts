import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkFor } from "../../accounts/tokens/token-scene.ts";
import { request } from "../../access/certificate-scene.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import {
  api,
  entry,
  writeConfiguration,
  clock,
  log,
  issuer,
  followed,
  open,
  settled,
  ready,
  tokenOf,
  messageOf,
  disposable,
} from "./issuers-under-test.ts";

const authority = createCertificateAuthority({
  subject: { commonName: "issuer" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: Date.now() - 60_000,
  notAfter: Date.now() + 3_600_000,
});

const certificateAuthority = encodePem("CERTIFICATE", authority.certificate.der);

function change(fields: object): void {
  writeConfiguration(fields);
  followed.refresh({ isForced: false });
}

describe("the authentication configuration", () => {
  it("is read again when it changes, and issuers that stay keep their keys", async () => {
    using issuers = disposable(await ready());
    const { fetches } = issuer;
    const mappings = { username: { expression: "'new:' + claims.sub" } };
    change({ jwt: [entry(issuer.url, { claimMappings: mappings })] });
    const answer = await issuers.verify(await tokenOf(), checkFor(api));
    assert.equal(answer.outcome === "authenticated" && answer.user.username, "new:ada");
    assert.equal(issuer.fetches, fetches);
    change({ jwt: [] });
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "notApplicable");
  });

  it("has the keys of an issuer that it adds fetched before its first token", async () => {
    using issuers = disposable(open({ jwt: [] }));
    change({ jwt: [entry(issuer.url)] });
    assert.equal(issuer.fetches, 1);
    await settled();
    assert.ok(!(issuers.verify(await tokenOf(), checkFor(api)) instanceof Promise));
  });

  it("has tokens of an issuer whose source it changes wait for the keys, which are fetched once more", async () => {
    const token = await tokenOf();
    using issuers = disposable(await ready());
    const discoveryURL = "https://intern.example.com/.well-known/openid-configuration";
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], discoveryURL } })] });
    assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "authenticated");
    assert.equal(issuer.fetches, 4);
  });

  it("has the last keys of an issuer used when its CAs change while it is away, for a day after they came", async () => {
    using issuers = disposable(await ready());
    issuer.isAway = true;
    const token = await issuer.sign({ exp: clock.now() / 1000 + 7 * 86_400 }, clock.now());
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], certificateAuthority } })] });
    assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "authenticated");
    assert.match(log.lines.join(), /ECONNREFUSED/);
    assert.match(log.lines.join(), /its last keys stay in use for a day at most/);
    issuer.isAway = false;
    issuer.rotate("second");
    clock.passSeconds(10);
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
    assert.match(messageOf(await issuers.verify(token, checkFor(api))), /failed to verify/);
    issuer.isAway = true;
    clock.passSeconds(23 * 3600);
    change({ jwt: [entry(issuer.url)] });
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
    clock.passSeconds(3600);
    assert.match(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), /not initialized/);
  });

  it("has no tokens accepted by the keys of an issuer that was at another address", async () => {
    const moved = { url: "https://other.example.com", audiences: ["signet"] };
    const elsewhere = { ...moved, url: issuer.url, discoveryURL: "https://intern.example.com/document" };
    for (const next of [moved, elsewhere]) {
      issuer.isAway = false;
      using issuers = disposable(await ready());
      issuer.isAway = true;
      change({ jwt: [entry(next.url, { issuer: next })] });
      assert.match(messageOf(await issuers.verify(await tokenOf({ iss: next.url }), checkFor(api))), /not initialized/);
    }
  });

  it("has the last keys of an issuer used also when its CAs change again before the first attempt has ended", async () => {
    using issuers = disposable(await ready());
    issuer.isAway = true;
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], certificateAuthority } })] });
    change({ jwt: [entry(issuer.url)] });
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
  });

  it("stays in force when the file becomes invalid, which is logged once", async () => {
    using issuers = disposable(await ready());
    change({ jwt: [entry("http://login.example.com")] });
    for (let times = 0; times < 3; times++) {
      followed.refresh({ isForced: false });
      assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
    }
    const told = log.lines.filter((line) => line.includes("its last good contents stay in use"));
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /jwt\[0\]\.issuer\.url.*https/);
  });

  it("decides where requests may be anonymous", async () => {
    using issuers = disposable(await ready({ anonymous: { enabled: true, conditions: [{ path: "/livez" }] } }));
    const may = (path: string): boolean => issuers.mayBeAnonymous({ ...request(), path });
    assert.deepEqual(["/livez", "/livez/", "/livez/ping", "/api"].map(may), [true, false, false, false]);
    change({ anonymous: { enabled: false } });
    assert.equal(may("/livez"), false);
    change({ anonymous: { enabled: true } });
    assert.equal(may("/api"), true);
    change({});
    assert.equal(may("/api"), true);
  });

  it("and --anonymous-auth=false exclude each other", () =>
    assert.throws(() => open({ anonymous: { enabled: true } }, false), /--anonymous-auth is set too/));
});
