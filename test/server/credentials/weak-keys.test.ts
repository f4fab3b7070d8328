import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { forgeableRsaKey, hugeRsaKey, rsaPublicKeyInfo, modulusOf } from "../../pki/keys/rsa-keys.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const now = Date.now();
const hour = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), "signet-weak-keys-"));
const forgeable = forgeableRsaKey();

const authorityOf = (commonName: string, privateKey: KeyObject): CertificateAuthority =>
  createCertificateAuthority({ subject: { commonName }, privateKey, notBefore: now - hour, notAfter: now + hour });

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

describe("a server", () => {
  const authority = authorityOf("clients", generatePrivateKey("ECDSA P-256"));
  let server: TestServer;

  before(async () => {
    const caFile = write("clients.crt", encodePem("CERTIFICATE", authority.certificate.der));
    server = await startTestServer({ settings: { "client-ca-file": caFile } });
  });

  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const certificateOf = (key: KeyObject): string =>
    encodePem(
      "CERTIFICATE",
      signCertificate(
        {
          subject: { commonName: "alice" },
          publicKey: publicKeyInfoOf(key),
          notBefore: now - hour,
          notAfter: now + hour,
          isCA: false,
          keyUsages: ["digitalSignature"],
          extendedKeyUsages: ["clientAuth"],
          subjectAltNames: noSubjectAltNames,
        },
        authority,
      ),
    );

  const send = (
    path: string,
    options: { readonly key?: KeyObject; readonly body?: unknown },
  ): Promise<{ readonly status: number; readonly text: string }> =>
    new Promise((resolve, reject) => {
      const { key, body } = options;
      const sent = request(
        `${server.url}${path}`,
        {
          method: body === undefined ? "GET" : "POST",
          rejectUnauthorized: false,
          agent: false,
          ...(key === undefined
            ? { headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/json" } }
            : { key: encodePrivateKeyPem(key), cert: certificateOf(key) }),
        },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });

  it("accepts a client certificate with a good key, but not with a weak or huge one", async () => {
    const path = "/version";
    assert.equal((await send(path, { key: generatePrivateKey("ECDSA P-256") })).status, 200);
    assert.equal((await send(path, { key: forgeable })).status, 401);
    assert.equal((await send(path, { key: hugeRsaKey(9216) })).status, 401);
  });

  it("answers 422 to a certificate request with a key that everyone can sign with, or that is huge", async () => {
    const create = (key: KeyObject): Promise<{ readonly status: number; readonly text: string }> => {
      const pem = createCertificateRequestPem({
        privateKey: key,
        subject: { commonName: "alice" },
        subjectAltNames: noSubjectAltNames,
      });
      return send("/apis/certificates.platform.io/v1/certificatesigningrequests", {
        body: {
          apiVersion: "certificates.platform.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { name: createHash("sha256").update(pem).digest("hex") },
          spec: { request: Buffer.from(pem).toString("base64"), signerName: "example.com/a", usages: ["client auth"] },
        },
      });
    };
    assert.equal((await create(generatePrivateKey("RSA 2048"))).status, 201);
    const refused = await create(forgeable);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /public exponent too small/);
    const huge = await create(hugeRsaKey(9216));
    assert.equal(huge.status, 422);
    assert.match(huge.text, /more than 8192 bits/);
  });

  it("does not start with such keys in its files, and says which file and why", async () => {
    const weakCa = write("weak.crt", encodePem("CERTIFICATE", authorityOf("weak", forgeable).certificate.der));
    const weakKey = write("weak.key", encodePrivateKeyPem(forgeable));
    const sealed = write("sealed.key", encodePem("ENCRYPTED PRIVATE KEY", Buffer.from("3000", "hex")));
    const even = encodePem("PUBLIC KEY", rsaPublicKeyInfo(modulusOf(forgeable), 2n));
    const cases: readonly [Readonly<Record<string, unknown>>, RegExp][] = [
      [{ "client-ca-file": weakCa }, /^--client-ca-file: .*certificate 1 \(CN=weak\) .*too small/],
      [{ "requestheader-client-ca-file": weakCa }, /^--requestheader-client-ca-file: .*too small/],
      [{ "cluster-signing-cert-file": weakCa, "cluster-signing-key-file": weakKey }, /^--cluster-signing.*too small/],
      [
        { "cluster-signing-cert-file": weakCa, "cluster-signing-key-file": sealed },
        /^--cluster-signing-key-file: .*sealed\.key: the private key is encrypted/,
      ],
      [{ "service-account-key-file": [write("even.pem", even)] }, /^--service-account-key-file: .*even/],
    ];
    for (const [settings, message] of cases) {
      await assert.rejects(startTestServer({ settings }), { message }, JSON.stringify(settings));
    }
  });
});
