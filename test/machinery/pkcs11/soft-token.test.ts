import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { Pkcs11Key } from "../../../src/machinery/pkcs11/pkcs11-key.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import { CertificateScene } from "../../features/certificates/certificate-loop-scene.ts";
import { testSigningKey } from "../../pki/keys/signing-key-contract.ts";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { SoftToken, softTokenMissing } from "./soft-token.ts";

describe("in a token of SoftHSM,", { skip: softTokenMissing }, () => {
  if (softTokenMissing !== false) return;
  const token = new SoftToken();
  after(() => token.remove());

  for (const type of ["ECDSA P-256", "ECDSA P-384", "RSA 2048"] as const) {
    const uri = token.import(type.replace(" ", "-"), generatePrivateKey(type));
    let key: Pkcs11Key | undefined;
    testSigningKey(`of type ${type}`, async () => (key ??= await Pkcs11Key.open(uri)));
    after(() => key?.close());
  }

  describe("the keys of a server", () => {
    const tokenKey = token.import("token-key", generatePrivateKey("ECDSA P-256"));
    const authorityKey = generatePrivateKey("RSA 2048");
    const authorityUri = token.import("ca", authorityKey);
    const otherUri = token.import("not-ca", generatePrivateKey("RSA 2048"));
    const now = Date.now();
    const authority = createCertificateAuthority({
      subject: { commonName: "CA in a token" },
      privateKey: authorityKey,
      notBefore: now - 60_000,
      notAfter: now + 365 * 86_400_000,
    });
    const authorityFile = join(token.folder, "ca.crt");
    writeFileSync(authorityFile, encodePem("CERTIFICATE", authority.certificate.der));
    const settings = {
      "service-account-signing-key-file": tokenKey,
      "cluster-signing-cert-file": authorityFile,
      "cluster-signing-key-file": authorityUri,
    };
    let server: TestServer;
    let api: InProcess;
    before(async () => {
      server = await startTestServer({ settings: { ...settings, "revocation-url": "http://pki.example.com" } });
      api = new InProcess(server);
      await api.json("/api/v1/namespaces/default/serviceaccounts", {
        method: "POST",
        body: { metadata: { name: "robot" } },
      });
    });

    const request = () =>
      api.send("/api/v1/namespaces/default/serviceaccounts/robot/token", {
        method: "POST",
        body: { spec: { audiences: ["vault"] } },
      });
    const tokenOf = (body: unknown): string => (JSON.parse(String(body)) as { status: { token: string } }).status.token;

    it("sign tokens that relying parties verify", async () => {
      const keySet = await api.json<JSONWebKeySet>("/openid/v1/jwks");
      await jwtVerify(tokenOf((await request()).body), createLocalJWKSet(keySet), { audience: "vault" });
    });

    it("are refused with a PIN in the URI, by the name of the setting and without the PIN", async () => {
      const [at, uri] = ["cluster-signing-key-file", authorityUri.replace(/pin-source=.*/, "pin-value=1234")];
      await assert.rejects(
        startTestServer({ settings: { ...settings, [at]: uri } }),
        (error) =>
          error instanceof Error &&
          error.message.startsWith(`--${at}: it has a PIN (pin-value)`) &&
          !error.message.includes("1234"),
      );
    });

    it("sign certificates with the key that stays in the token", async () => {
      const scene = new CertificateScene(server.client);
      const signerName = `${names.domain}/apiserver-client`;
      const [leaf] = await scene.obtain({ name: "laptop", signerName, commonName: "laptop" });
      assert.ok(leaf);
      const issuer = new X509Certificate(authority.certificate.der);
      assert.ok(new X509Certificate(leaf.der).verify(issuer.publicKey));
    });

    it("that are taken out sign no tokens until they are back, and what they signed before stays valid", async () => {
      const made = tokenOf((await request()).body);
      token.takeOut();
      const { status, body } = await request();
      assert.equal(status, 503);
      assert.match(String(body), /the signing key can't be used/);
      const review = await api.json<{ status: { authenticated?: boolean } }>(
        "/apis/authentication.platform.io/v1/tokenreviews",
        { method: "POST", body: { spec: { token: made, audiences: ["vault"] } } },
      );
      assert.equal(review.status.authenticated, true);
      const doctor = async (more: Record<string, string> = {}) => {
        const dataDirectory = join(token.folder, "doctor");
        mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
        const config = parseServerConfig({
          commandLine: { "data-dir": dataDirectory },
          file: { ...settings, ...more },
        });
        const findings = await examineServer(config, now);
        return findings
          .filter(({ subject }) => subject === "outside keys")
          .map(({ state, found, advice }) =>
            [`${state} ${found}`, advice].filter((one) => one !== undefined).join(": "),
          );
      };
      assert.match(
        (await doctor()).join(),
        /bad pkcs11:token=test;object=ca can't be used: 0 tokens.*: put the token in, or correct its PIN file or the setting/,
      );
      token.putIn();
      assert.deepEqual((await doctor()).toSorted(), [
        "good pkcs11:token=test;object=ca signs",
        "good pkcs11:token=test;object=token-key signs",
      ]);
      assert.match(
        (await doctor({ "cluster-signing-key-file": otherUri })).join(),
        /bad pkcs11:token=test;object=not-ca can't be used: its signature is not one of the expected key: .*: put the token in, or correct/,
      );
      let last = await request();
      while (last.status === 503) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        last = await request();
      }
      assert.equal(last.status, 201);
    });

    it("are counted and timed in the metrics by key and outcome, and no label has the PIN or its file", async () => {
      const text = String((await api.send("/metrics")).body);
      const count = (key: string, outcome: string): number => {
        const series = `signet_outside_key_signatures_total{provider="pkcs11",key="pkcs11:token=test;object=${key}",outcome="${outcome}"} `;
        return Number(
          text
            .split("\n")
            .find((line) => line.startsWith(series))
            ?.slice(series.length),
        );
      };
      assert.ok(count("token-key", "signed") >= 3 && count("token-key", "failed") >= 1);
      assert.ok(count("ca", "signed") >= 1);
      assert.match(
        text,
        /^signet_outside_key_usable\{provider="pkcs11",key="pkcs11:token=test;object=token-key"\} 1$/m,
      );
      assert.match(text, /^signet_outside_key_signature_duration_seconds_count\{.*object=ca",outcome="signed"\} /m);
      assert.ok(!text.includes(token.pinFile) && !text.includes("pin-source"));
    });
  });

  it("a key or a library that is not there, and a PIN that is wrong, keep a server from starting with the reason", async () => {
    const uri = token.import("other", generatePrivateKey("ECDSA P-256"));
    const start = (given: string): Promise<TestServer> =>
      startTestServer({ settings: { "service-account-signing-key-file": given } });
    await assert.rejects(start(uri.replace("other", "nobody")), /no private key with the label or id/);
    await assert.rejects(start(uri.replace("token=test", "token=none")), /its tokens are "test"/);
    const library = /module-path=[^&]*/;
    const configuration = process.env["SOFTHSM2_CONF"];
    process.env["SOFTHSM2_CONF"] = join(token.folder, "nothing.conf");
    const notStarted =
      /libsofthsm2\.so does not start \(C_Initialize failed with CKR_\w+\); check its configuration, and/;
    try {
      await assert.rejects(start(uri), notStarted);
    } finally {
      process.env["SOFTHSM2_CONF"] = configuration;
    }
    for (const file of [join(token.folder, "nothing.so"), "/bin/sh"]) {
      const reason = new RegExp(`p11-kit cannot load ${file} \\(exit 1\\); name the vendor's library in module-path`);
      await assert.rejects(start(uri.replace(library, `module-path=${file}`)), reason);
    }
    const wrong = join(token.folder, "wrong-pin");
    writeFileSync(wrong, "0000", { mode: 0o600 });
    await assert.rejects(
      start(uri.replace(token.pinFile, wrong)),
      (error) => error instanceof Error && /refuses the PIN/.test(error.message) && !error.message.includes("0000"),
    );
  });
});
