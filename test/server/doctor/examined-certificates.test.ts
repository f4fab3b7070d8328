import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { abortRotation, prepareAuthority } from "../../../src/features/certificates/authorities/rotate-authority.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import type { Finding } from "../../../src/server/doctor/finding.ts";
import { withKeyStore } from "../../../src/server/store/open-key-store.ts";
import { folder, tokenFile, dataDirectory, configOf, examine, newTroubles } from "./examined-server.ts";

const day = 86_400_000;

describe("signet doctor beside a running server", () => {
  it("finds certificates that expire soon or have expired, and a clock that is behind", async () => {
    const ofCa = async (now: number): Promise<object[]> =>
      (await examine({}, now))
        .filter(({ found }) => found.includes("/ca.crt"))
        .map(({ state, advice }) => ({ state, advice }));
    assert.deepEqual(await ofCa(Date.now() + 3640 * day), [
      { state: "warning", advice: "replace it before that: signet ca prepare ca, then signet ca switch ca" },
    ]);
    assert.deepEqual(await ofCa(Date.now() + 4000 * day), [
      { state: "bad", advice: "replace it now: signet ca prepare ca, then signet ca switch ca --force" },
    ]);
    const early = await newTroubles({}, Date.now() - 10 * day);
    assert.ok(
      early.some((line) => line.startsWith("bad clock")),
      early.join("\n"),
    );
  });

  it("names the CA of a configured signer by the signer in the commands that replace it", async (context) => {
    const signers = join(dataDirectory, "signers");
    mkdirSync(signers);
    context.after(() => rmSync(signers, { recursive: true }));
    const file = join(signers, "example.com:services.crt");
    copyFileSync(join(dataDirectory, "ca.crt"), file);
    const [finding] = (await examine({}, Date.now() + 3640 * day)).filter(({ found }) => found.startsWith(file));
    const name = "example.com/services";
    assert.equal(finding?.advice, `replace it before that: signet ca prepare ${name}, then signet ca switch ${name}`);
  });

  it("finds the server's and the administrator's own certificates when they were not renewed", async () => {
    const ofOwn = async (now: number): Promise<string[]> =>
      (await newTroubles({}, now)).filter((line) => /certificate: the (?:serving )?certificate /.test(line));
    assert.deepEqual(await ofOwn(Date.now()), []);
    const late = await ofOwn(Date.now() + 300 * day);
    assert.deepEqual(
      late.map((line) => line.replace(/\d{4}-\S+Z/, "TIME")),
      ["the serving certificate", "the certificate in admin.kubeconfig"].map((what) =>
        what.includes("admin") && late[1]?.includes("ended")
          ? `bad certificate: ${what} ended at TIME`
          : `warning certificate: ${what} ends at TIME, and should have been renewed`,
      ),
    );
    const own = join(dataDirectory, "serving.pem");
    const before = readFileSync(own, "utf8");
    writeFileSync(own, "no PEM");
    assert.deepEqual(await newTroubles(), [`bad certificate: ${own} holds no key with a certificate`]);
    writeFileSync(own, before);
  });

  it("finds the server's own certificates that are not valid yet, and says what to do about the clock", async () => {
    const findings = await examine({}, Date.now() - 10 * day);
    assert.deepEqual(
      findings.filter(({ found }) => found.includes("ca.crt")).map(({ advice }) => advice),
      Array.from(
        { length: 4 },
        () =>
          "set this machine's clock if it is slow; if it is right, replace the certificate (signet ca replaces CAs)",
      ),
    );
    const early = findings.filter(({ found }) => /^the (?:serving )?certificate /.test(found));
    const advice =
      "set this machine's clock if it is slow; if it is right, restart the server, which makes a new one, and copy admin.kubeconfig again to where it is used";
    assert.deepEqual(
      early.map((finding) => ({ ...finding, found: finding.found.replace(/\d{4}-\S+Z/, "TIME") })),
      ["the serving certificate", "the certificate in admin.kubeconfig"].map((what) => ({
        state: "bad",
        subject: "clock",
        found: `${what} begins only at TIME`,
        advice,
      })),
    );
  });

  it("warns of a CA beside the one that signs that is not valid now, and advises to end the trust in it", async () => {
    const file = join(dataDirectory, "nodeagent-serving-ca.crt");
    const before = readFileSync(file, "utf8");
    const add = (days: readonly [from: number, to: number]): string => {
      const [notBefore, notAfter] = days.map((one) => Date.now() + one * day);
      assert.ok(notBefore !== undefined && notAfter !== undefined);
      const privateKey = generatePrivateKey("ECDSA P-256");
      const made = createCertificateAuthority({ subject: { commonName: "other" }, privateKey, notBefore, notAfter });
      return encodePem("CERTIFICATE", made.certificate.der);
    };
    writeFileSync(file, before + add([10, 20]) + add([-20, -10]));
    const findings = (await examine()).filter(({ found }) => found.includes("(CN=other)"));
    assert.deepEqual(
      findings.map((finding) => ({ ...finding, found: finding.found.replace(/\d{4}-\S+Z/, "TIME") })),
      ["begins only at TIME", "ended at TIME"].map((when) => ({
        state: "warning",
        subject: "certificate",
        found: `${file} (CN=other) ${when}, and does not sign now`,
        advice: "if signet ca list shows it as replaced, end the trust in it: signet ca retire nodeagent-serving-ca",
      })),
    );
    writeFileSync(file, before);
  });

  it("finds that the key which opens the private keys in the store is lost, or that of another server", async () => {
    const file = join(dataDirectory, "sealing.key");
    const before = readFileSync(file, "utf8");
    await withKeyStore(configOf(), async (keys) => prepareAuthority(keys, { name: "ca", clock: systemClock }));
    const sealed = async (): Promise<Finding[]> => (await examine()).filter(({ subject }) => subject === "sealed keys");
    assert.deepEqual(
      (await sealed()).map(({ state }) => state),
      ["good"],
    );
    rmSync(file);
    const [lost = assert.fail()] = await sealed();
    assert.equal(lost.state, "bad");
    assert.match(lost.found, /^the private keys in the store \(2\) can't be used: .*sealing\.key is not there/);
    writeFileSync(file, `${Buffer.alloc(32, 1).toString("base64")}\n`, { mode: 0o600 });
    const [other = assert.fail()] = await sealed();
    assert.match(other.found, /is not what the CA \w+ is sealed with/);
    writeFileSync(file, before, { mode: 0o600 });
    await withKeyStore(configOf(), async (keys) => abortRotation(keys, { name: "ca", clock: systemClock }));
  });

  it("finds certificates that expire soon and files that others can read, among those that settings name", async () => {
    const clients = join(folder, "clients.crt");
    copyFileSync(join(dataDirectory, "ca.crt"), clients);
    const soon = await newTroubles({ "client-ca-file": clients }, Date.now() + 3640 * day);
    assert.ok(
      soon.some((line) => line.startsWith("warning certificate") && line.includes(clients)),
      soon.join("\n"),
    );
    chmodSync(clients, 0o666);
    chmodSync(tokenFile, 0o644);
    assert.deepEqual(await newTroubles({ "client-ca-file": clients }), [
      `bad permissions: others can write to ${clients}`,
      `bad permissions: others can read ${tokenFile}`,
    ]);
    chmodSync(tokenFile, 0o640);
    assert.deepEqual(await newTroubles(), []);
    chmodSync(tokenFile, 0o600);
  });
});
