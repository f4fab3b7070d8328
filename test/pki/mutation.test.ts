import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { createCertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import {
  checkRequestSignature,
  checkRequestSignatureInThreadPool,
  parseCertificateRequest,
  parseCertificateRequestPem,
} from "../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { encodeBitString, encodeSequence } from "../../src/pki/der/der-writer.ts";
import { DerReader, tags } from "../../src/pki/der/der.ts";
import { runToEnd } from "../../src/machinery/api/run-to-end.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { decodePemBlocks, encodePem } from "../../src/pki/pem.ts";
import { PkiError } from "../../src/pki/pki-error.ts";
import { signData, signatureSchemeOf } from "../../src/pki/keys/sign.ts";
import { findAnchorFaults } from "../../src/pki/certificates/trust-anchors.ts";
import { validateCertificatesPem } from "../../src/pki/certificates/validate-certificates-pem.ts";

const anchorFaults = (pem: string): string[] => runToEnd(findAnchorFaults(pem));
const certificatesFault = (pem: string | Uint8Array): string | undefined => runToEnd(validateCertificatesPem(pem));

/**
 * Mutated requests and bundles: nothing may crash, and nothing that OpenSSL calls invalid may be accepted.
 * SIGNET_MUTATIONS sets how many of each are made (a hundred thousand take a few minutes), SIGNET_MUTATION_SEED where the
 * random sequence starts, so that a find can be repeated.
 */
const mutations = Number(process.env["SIGNET_MUTATIONS"] ?? 2_000);
const seed = Number(process.env["SIGNET_MUTATION_SEED"] ?? 20_261_121);
/** Accepted mutants that go to an OpenSSL process each. */
const maximumProcesses = Math.max(100, mutations / 50);

const runFile = promisify(execFile);
const execution = { timeout: 600_000 };

/** Mulberry32: a small generator whose sequence depends only on the seed. */
function randomIntegers(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const telling = [0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x0c, 0x13, 0x30, 0x31, 0x7f, 0x80, 0x81, 0x82, 0xa0, 0xff];

/** One to four changes: octets flipped, replaced, removed, inserted, or a run repeated. */
function mutate(input: Buffer, random: (below: number) => number): Buffer {
  let output = Buffer.from(input);
  for (let changes = 1 + random(4); changes > 0 && output.length > 0; changes--) {
    const at = random(output.length);
    const octet = output[at] ?? 0;
    const kind = random(6);
    if (kind === 0) output[at] = octet ^ (1 << random(8));
    else if (kind === 1) output[at] = telling[random(telling.length)] ?? 0;
    else if (kind === 2) output[at] = octet + (random(2) === 0 ? 1 : -1);
    else if (kind === 3) output = Buffer.concat([output.subarray(0, at), output.subarray(at + 1)]);
    else if (kind === 4) output = Buffer.concat([output.subarray(0, at), Buffer.of(random(256)), output.subarray(at)]);
    else output = Buffer.concat([output.subarray(0, at), output.subarray(Math.max(0, at - random(40)))]);
  }
  return output;
}

/** What a parser made of its input; anything but a PkiError is a crash. */
function accepts(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}

const names = {
  dnsNames: ["node.example.com"],
  ipAddresses: ["10.0.0.1", "fd00::1"],
  emailAddresses: ["a@example.com"],
  uris: ["spiffe://example.com/a"],
};
const subject = { commonName: "system:node:é", organizations: ["system:nodes"], countries: ["DE"] };

/** Gives a changed certificationRequestInfo a good signature: what an attacker can always do. */
function signedAgain(info: Buffer, privateKey: KeyObject): Buffer {
  const signature = encodeBitString(signData(info, privateKey));
  return encodeSequence(info, signatureSchemeOf(privateKey).algorithmIdentifier, signature);
}

describe("mutated certificate requests", () => {
  const bases = (["ECDSA P-256", "Ed25519", "RSA 2048"] as const).map((type) => {
    const privateKey = generatePrivateKey(type);
    const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: names });
    const der = decodePemBlocks(pem)[0]?.bytes ?? Buffer.alloc(0);
    return {
      privateKey,
      pem: Buffer.from(pem),
      der,
      info: new DerReader(new DerReader(der).read(tags.sequence, "")).readElement().bytes,
    };
  });

  it("never crash the parser, and OpenSSL agrees on every one that is accepted", execution, async () => {
    const random = randomIntegers(seed);
    const accepted = new Map<string, Buffer>();
    let refused = 0;
    for (let index = 0; index < mutations; index++) {
      const base = bases[random(bases.length)];
      assert.ok(base);
      const kind = random(4);
      const input =
        kind === 0
          ? mutate(base.pem, random)
          : Buffer.from(
              encodePem(
                "CERTIFICATE REQUEST",
                kind === 1 ? mutate(base.der, random) : signedAgain(mutate(base.info, random), base.privateKey),
              ),
            );
      const isAccepted = accepts(() => checkRequestSignature(parseCertificateRequestPem(input)));
      assert.equal(await isAcceptedInThreadPool(input), isAccepted);
      if (!isAccepted) refused++;
      const der = isAccepted ? decodePemBlocks(input)[0]?.bytes : undefined;
      if (der !== undefined) accepted.set(der.toString("base64"), der);
    }
    assert.ok(refused > mutations / 2, "most mutants are refused");
    assert.ok(accepted.size > 3, "some mutants are good");
    await checkWithOpenssl([...accepted.values()].slice(0, maximumProcesses));
  });

  it("are read the same when only their signature is changed", () => {
    const random = randomIntegers(seed + 1);
    for (const { der, info } of bases) {
      for (let index = 0; index < 50; index++) {
        const changed = Buffer.from(der);
        const at = der.length - 1 - random(40);
        changed[at] = (changed[at] ?? 0) ^ (1 << random(8));
        if (!accepts(() => parseCertificateRequest(changed))) continue;
        const request = parseCertificateRequest(changed);
        assert.ok(request.certificationRequestInfo.equals(info));
        assert.ok(!accepts(() => checkRequestSignature(request)));
      }
    }
  });
});

async function isAcceptedInThreadPool(pem: string | Uint8Array): Promise<boolean> {
  try {
    await checkRequestSignatureInThreadPool(parseCertificateRequestPem(pem));
    return true;
  } catch (error) {
    assert.ok(error instanceof PkiError);
    return false;
  }
}

/** One process a request, several at a time: OpenSSL reads only one request a process. */
async function checkWithOpenssl(requests: readonly Buffer[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "signet-mutation-"));
  try {
    const queue = [...requests.entries()];
    const worker = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const [index, der] = next;
        const file = join(directory, `${index}.der`);
        writeFileSync(file, der);
        const { stderr } = await runFile("openssl", ["req", "-inform", "DER", "-in", file, "-noout", "-verify"]).catch(
          (error: unknown) => ({ stderr: String(error) }),
        );
        assert.match(stderr, /verify OK/, `OpenSSL refuses ${der.toString("base64")}`);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe("mutated trust bundles and issued certificates", () => {
  const certificates = (["ECDSA P-256", "RSA 2048", "Ed25519"] as const).map((type) => {
    const privateKey = generatePrivateKey(type);
    const notBefore = Date.UTC(2026, 0, 1);
    return createCertificateAuthority({
      subject,
      privateKey,
      notBefore,
      notAfter: Date.UTC(2060, 0, 1),
      maxPathLength: 1,
    });
  });
  const bundle = Buffer.from(
    certificates.map(({ certificate }) => encodePem("CERTIFICATE", certificate.der)).join("text\n"),
  );

  it("never crash the validators, and OpenSSL can read every certificate that is accepted", execution, () => {
    const random = randomIntegers(seed + 2);
    let acceptedCount = 0;
    for (let index = 0; index < mutations; index++) {
      const base = certificates[random(certificates.length)]?.certificate.der ?? Buffer.alloc(0);
      const input =
        random(2) === 0 ? mutate(bundle, random) : Buffer.from(encodePem("CERTIFICATE", mutate(base, random)));
      const isAnchors = anchorFaults(input.toString("latin1")).length === 0;
      const isCertificates = certificatesFault(input) === undefined;
      if (!isAnchors && !isCertificates) continue;
      acceptedCount++;
      for (const { bytes } of decodePemBlocks(isAnchors ? input.toString("latin1") : input)) {
        assert.doesNotThrow(() => new X509Certificate(bytes), `OpenSSL refuses ${bytes.toString("base64")}`);
      }
    }
    assert.ok(acceptedCount > 0, "some mutants are good");
  });
});
