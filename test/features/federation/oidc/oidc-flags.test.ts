import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import { federationFlags, federationSettings } from "../../../../src/features/federation/settings.ts";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { resolveFlags } from "../../../../src/machinery/command-line/settings/flag.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { checkFor, TestClock } from "../../accounts/tokens/token-scene.ts";
import { issuersOptions, keptLog, TestIssuer } from "../issuer-scene.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const api = ["https://api.test"];
const folder = temporaryFolder();

type Given = Readonly<Record<string, string | readonly string[]>>;
const settingsOf = (given: Given) =>
  federationSettings(resolveFlags(federationFlags, { commandLine: given, file: {} })).issuers;

const issuer = new TestIssuer("https://login.example.com");
const needed = { "oidc-issuer-url": issuer.url, "oidc-client-id": "signet" };
const es256 = { ...needed, "oidc-signing-algs": ["ES256"] };

/** The user of a token with these claims, or why it is refused. `authorities`: with which CAs the issuer was asked. */
async function answerTo(
  given: Given,
  { claims = {}, authorities = new Set() }: { readonly claims?: object; readonly authorities?: Set<unknown> } = {},
): Promise<UserInfo | string> {
  const settings = settingsOf(given);
  assert.ok(settings !== undefined);
  const [clock, log] = [new TestClock(), keptLog()];
  const fetch: typeof issuer.fetch = (url, options) => {
    authorities.add(options.certificateAuthority);
    return issuer.fetch(url, options);
  };
  const issuers = openIssuers(settings, issuersOptions({ clock, log, apiAudiences: api, fetch }));
  const answer = await issuers.verify(await issuer.sign({ ...claims }, clock.now()), checkFor(api));
  issuers.close();
  if (answer.outcome === "authenticated") return answer.user;
  return answer.outcome === "refused" ? answer.message : answer.outcome;
}

describe("the --oidc flags", () => {
  const ada = { extra: {}, groups: [] };

  it("put the issuer before a user's name, except before an address of mail", async () => {
    assert.deepEqual(await answerTo(es256), { ...ada, username: `${issuer.url}#ada` });
    const byMail = { ...es256, "oidc-username-claim": "email" };
    const claims = { email: "ada@example.com" };
    assert.deepEqual(await answerTo(byMail, { claims }), { ...ada, username: "ada@example.com" });
  });

  it("put what they say before a user's name, and nothing for -", async () => {
    for (const [prefix, username] of [
      ["corp:", "corp:ada"],
      ["-", "ada"],
    ] as const) {
      assert.deepEqual(await answerTo({ ...es256, "oidc-username-prefix": prefix }), { ...ada, username });
    }
  });

  it("give a user groups only of the claim that they name, with their prefix", async () => {
    const claims = { groups: ["dev"] };
    const grouped = { ...es256, "oidc-username-prefix": "-", "oidc-groups-claim": "groups" };
    assert.deepEqual(await answerTo(es256, { claims }), { ...ada, username: `${issuer.url}#ada` });
    assert.deepEqual(await answerTo(grouped, { claims }), { ...ada, username: "ada", groups: ["dev"] });
    const prefixed = { ...grouped, "oidc-groups-prefix": "corp:" };
    assert.deepEqual(await answerTo(prefixed, { claims }), { ...ada, username: "ada", groups: ["corp:dev"] });
  });

  it("refuse tokens without a claim that they require, or with another value", async () => {
    const strict = { ...es256, "oidc-username-prefix": "-", "oidc-required-claim": ["hd=a=b", "level=3"] };
    assert.match(String(await answerTo(strict)), /required claim hd not present/);
    assert.match(String(await answerTo(strict, { claims: { hd: "a", level: "3" } })), /hd value does not match/);
    assert.match(String(await answerTo(strict, { claims: { hd: "a=b" } })), /required claim level not present/);
    const claims = { hd: "a=b", level: "3" };
    assert.deepEqual(await answerTo(strict, { claims }), { ...ada, username: "ada" });
  });

  it("accept the signature algorithms that they name, and RS256 alone when they name none", async () => {
    const either = { ...es256, "oidc-username-prefix": "-", "oidc-signing-algs": ["RS256", "ES256"] };
    assert.deepEqual(await answerTo(either), { ...ada, username: "ada" });
    for (const given of [needed, { ...needed, "oidc-signing-algs": ["RS256", "ES384"] }]) {
      assert.match(String(await answerTo(given)), /signed with unsupported algorithm$/);
    }
  });

  it("have the issuer asked with the CAs of --oidc-ca-file, which must hold a certificate", async () => {
    const { certificate } = createCertificateAuthority({
      subject: { commonName: "issuer" },
      privateKey: generatePrivateKey("ECDSA P-256"),
      notBefore: Date.now() - 60_000,
      notAfter: Date.now() + 3_600_000,
    });
    const pem = encodePem("CERTIFICATE", certificate.der);
    const file = join(folder, "ca.pem");
    writeFileSync(file, pem);
    const authorities = new Set<unknown>();
    await answerTo({ ...es256, "oidc-ca-file": file }, { authorities });
    assert.deepEqual([...authorities], [pem]);
    writeFileSync(file, "none");
    await assert.rejects(answerTo({ ...es256, "oidc-ca-file": file }), /^UsageError: --oidc flags: .*certificate/);
  });

  const refused: Readonly<Record<string, readonly [given: Given, fault: RegExp]>> = {
    "an issuer without an audience": [{ "oidc-issuer-url": issuer.url }, /go together: give both/],
    "an audience without an issuer": [{ "oidc-client-id": "signet" }, /go together: give both/],
    "a rule without an issuer": [{ "oidc-required-claim": ["hd=a"] }, /go together: give both/],
    "a file beside them": [{ ...needed, "authentication-config": "/a" }, /--oidc-issuer-url: .*exclude each other/],
    "a required claim without a value": [{ ...needed, "oidc-required-claim": ["hd"] }, /"hd" is not claim=value$/],
    "a required value without a claim": [{ ...needed, "oidc-required-claim": ["=a"] }, /"=a" is not claim=value$/],
  };
  for (const [what, [given, fault]] of Object.entries(refused)) {
    it(`are refused: ${what}`, () => assert.throws(() => settingsOf(given), fault));
  }
});
