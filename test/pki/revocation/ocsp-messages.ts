import { createHash } from "node:crypto";
import { parseCertificates } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import { contextTag, DerReader, tags, readTime } from "../../../src/pki/der/der.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeUnsignedInteger,
} from "../../../src/pki/der/der-writer.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { encodeExtension, parseExtensions } from "../../../src/pki/certificates/extension.ts";

/** A CertID as clients write it. */
export function encodeCertificateId(
  issuer: Pick<Certificate, "rawSubject" | "publicKey">,
  serialNumber: Uint8Array,
  hash: "sha1" | "sha256" = "sha1",
): Buffer {
  const digest = (bytes: Buffer): Buffer => encodeOctetString(createHash(hash).update(bytes).digest());
  return encodeSequence(
    encodeSequence(encodeObjectIdentifier(oids[hash]), encodeElement(tags.null)),
    digest(issuer.rawSubject),
    digest(issuer.publicKey.keyBytes),
    encodeUnsignedInteger(serialNumber),
  );
}

/** An OCSPRequest about some CertIDs. */
export function encodeOcspRequest(certificateIds: readonly Buffer[], nonce?: Uint8Array): Buffer {
  const list = encodeSequence(Buffer.concat(certificateIds.map((id) => encodeSequence(id))));
  if (nonce === undefined) return encodeSequence(encodeSequence(list));
  const extension = encodeExtension({ id: oids.ocspNonce, isCritical: false, value: encodeOctetString(nonce) });
  return encodeSequence(encodeSequence(list, encodeElement(contextTag(2, "constructed"), encodeSequence(extension))));
}

export interface ReadOcspResponse {
  /** OCSPResponseStatus: 0 is successful. */
  readonly status: number;
  readonly answers: readonly {
    readonly certificateId: Buffer;
    readonly type: "good" | "revoked" | "unknown";
    readonly revokedAt?: number;
    readonly reason?: number;
    readonly thisUpdate: number;
    readonly nextUpdate: number;
  }[];
  readonly nonce?: Buffer | undefined;
  readonly certificates: readonly Certificate[];
}

/** Reads an OCSPResponse as strictly as DER is. Signatures are openssl's and Go's to check. */
export function readOcspResponse(der: Buffer): ReadOcspResponse {
  const outer = new DerReader(der);
  const response = outer.readSequence("OCSPResponse");
  outer.expectEnd();
  const [status = -1] = response.read(tags.enumerated, "");
  if (status !== 0) {
    response.expectEnd();
    return { status, answers: [], certificates: [] };
  }
  const bytes = new DerReader(response.read(contextTag(0, "constructed"), "")).readSequence("ResponseBytes");
  bytes.readObjectIdentifier();
  const basic = new DerReader(bytes.read(tags.octetString, "")).readSequence("BasicOCSPResponse");
  const data = basic.readSequence("ResponseData");
  basic.read(tags.sequence, "AlgorithmIdentifier");
  basic.readBitString();
  const certificates = parseCertificates(
    new DerReader(basic.read(contextTag(0, "constructed"), "")).read(tags.sequence, ""),
  );
  data.readElement();
  readTime(data);
  const list = data.readSequence("responses");
  const answers = [];
  while (!list.isAtEnd) {
    const single = list.readSequence("SingleResponse");
    const certificateId = single.readExpected(tags.sequence, "CertID").bytes;
    const element = single.readElement();
    const type = (["good", "revoked", "unknown"] as const)[element.tag & 0x1f] ?? "unknown";
    const revoked = type === "revoked" ? readRevoked(element.content) : {};
    const thisUpdate = readTime(single);
    const nextUpdate = readTime(new DerReader(single.read(contextTag(0, "constructed"), "")));
    answers.push({ certificateId, type, ...revoked, thisUpdate, nextUpdate });
  }
  const extensions = data.readOptional(contextTag(1, "constructed"));
  const nonce = extensions && parseExtensions(extensions, String).find(({ id }) => id === oids.ocspNonce);
  return { status, answers, certificates, nonce: nonce && new DerReader(nonce.value).read(tags.octetString, "") };
}

function readRevoked(content: Buffer): { revokedAt: number; reason?: number } {
  const reader = new DerReader(content);
  const revokedAt = readTime(reader);
  const reason = reader.readOptional(contextTag(0, "constructed"));
  return {
    revokedAt,
    ...(reason !== undefined && { reason: new DerReader(reason).read(tags.enumerated, "")[0] ?? -1 }),
  };
}
