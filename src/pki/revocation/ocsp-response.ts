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

/** Encodes an answer without certificate statuses. It is not signed. */
export const encodeOcspFailure = (failure: OcspFailure): Buffer => encodeSequence(encodeEnumerated(failures[failure]));

export type CertificateStatus =
  | { readonly type: "good" }
  | {
      readonly type: "revoked";
      /** Milliseconds since the epoch. */
      readonly revokedAt: number;
      readonly reason: RevocationReason;
    }
  /** As far as this server knows, the CA did not issue the certificate. */
  | { readonly type: "unknown" };

export interface OcspAnswer {
  readonly responses: readonly {
    /** The whole CertID of the request. */
    readonly certificateId: Buffer;
    readonly status: CertificateStatus;
  }[];
  /** The time of the statuses, in milliseconds since the epoch. */
  readonly thisUpdate: number;
  /** Until when clients may cache the answer, in milliseconds since the epoch. */
  readonly nextUpdate: number;
  /** Repeated from the request (RFC 9654). */
  readonly nonce?: Buffer;
}

/** A key that signs answers, with the certificate in which its CA authorizes it. */
export interface OcspResponder extends CertificateAuthority {
  /** The certificates that clients need to verify the responder, except roots. Its own is the first. */
  readonly chain: readonly Certificate[];
}

/** Signs an answer (RFC 6960 section 4.2.1). Synchronous, because nearly all of its time is the signature. */
export function signOcspResponse(
  { responses, thisUpdate, nextUpdate, nonce }: OcspAnswer,
  { certificate, privateKey, chain }: OcspResponder,
): Buffer {
  // SHA-1 is the only hash that RFC 6960 allows here. It only identifies the responder among certificates.
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
