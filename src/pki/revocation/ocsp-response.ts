import { createHash } from "node:crypto";
import type { Certificate } from "../certificates/certificate.ts";
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";
import { contextTag } from "../der/der.ts";
import {
  encodeBitString,
  encodeElement,
  encodeEnumerated,
  encodeGeneralizedTime,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeTagged,
} from "../der/der-writer.ts";
import { oids } from "../der/object-identifiers.ts";
import { reasonCodes } from "./revocation-reason.ts";
import type { RevocationReason } from "./revocation-reason.ts";
import { signData, signatureSchemeOf } from "../keys/sign.ts";
import { encodeExtension } from "../certificates/extension.ts";

/** The values of OCSPResponseStatus that are sent (RFC 6960 section 4.2.1). */
const failures = { malformedRequest: 1, tryLater: 3, unauthorized: 6 } as const;
export type OcspFailure = keyof typeof failures;

/** An answer that says nothing about certificates. It is not signed. */
export const encodeOcspFailure = (failure: OcspFailure): Buffer => encodeSequence(encodeEnumerated(failures[failure]));

export type CertificateStatus =
  | { readonly type: "good" }
  | {
      readonly type: "revoked";
      /** Milliseconds since the epoch. */
      readonly revokedAt: number;
      readonly reason: RevocationReason;
    }
  /** The CA did not issue it, as far as is known. */
  | { readonly type: "unknown" };

export interface OcspAnswer {
  readonly responses: readonly {
    /** The whole CertID of the request. */
    readonly certificateId: Buffer;
    readonly status: CertificateStatus;
  }[];
  /** When the statuses were looked up, in milliseconds since the epoch. */
  readonly thisUpdate: number;
  /** Until when clients may keep the answer, in milliseconds since the epoch. */
  readonly nextUpdate: number;
  /** Repeated from the request (RFC 9654). */
  readonly nonce?: Buffer;
}

/** A key that signs answers, with the certificate by which its CA allows it to. */
export interface OcspResponder extends CertificateAuthority {
  /** What clients need to verify the responder's certificate, apart from roots: itself first. */
  readonly chain: readonly Certificate[];
}

/** Signs an answer (RFC 6960 section 4.2.1). Synchronous: nearly all of its time is the signature. */
export function signOcspResponse(
  { responses, thisUpdate, nextUpdate, nonce }: OcspAnswer,
  { certificate, privateKey, chain }: OcspResponder,
): Buffer {
  // The one hash that RFC 6960 has for this: it only finds the responder among certificates.
  const keyHash = createHash("sha1").update(certificate.publicKey.keyBytes).digest();
  const update = [encodeGeneralizedTime(thisUpdate), encodeTagged(0, encodeGeneralizedTime(nextUpdate))] as const;
  const nonceExtension = nonce && { id: oids.ocspNonce, isCritical: false, value: encodeOctetString(nonce) };
  const responseData = encodeSequence(
    encodeTagged(2, encodeOctetString(keyHash)),
    update[0],
    encodeSequence(
      ...responses.map(({ certificateId, status }) => encodeSequence(certificateId, encodeStatus(status), ...update)),
    ),
    ...(nonceExtension === undefined ? [] : [encodeTagged(1, encodeSequence(encodeExtension(nonceExtension)))]),
  );
  const basic = encodeSequence(
    responseData,
    signatureSchemeOf(privateKey).algorithmIdentifier,
    encodeBitString(signData(responseData, privateKey)),
    encodeTagged(0, encodeSequence(...chain.map(({ der }) => der))),
  );
  return encodeSequence(
    encodeEnumerated(0),
    encodeTagged(0, encodeSequence(encodeObjectIdentifier(oids.ocspBasic), encodeOctetString(basic))),
  );
}

function encodeStatus(status: CertificateStatus): Buffer {
  if (status.type !== "revoked") return encodeElement(contextTag(status.type === "good" ? 0 : 2, "primitive"));
  const { revokedAt, reason } = status;
  const code = encodeEnumerated(reasonCodes[reason]);
  return encodeTagged(
    1,
    encodeGeneralizedTime(revokedAt),
    ...(reason === "unspecified" ? [] : [encodeTagged(0, code)]),
  );
}
