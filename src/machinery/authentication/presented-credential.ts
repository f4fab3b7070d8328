import type { UserInfo } from "../api/user-info.ts";

/** The properties of a certificate that a revocation can name. */
export interface CertificateIdentity {
  readonly type: "certificate";
  /** The SHA-256 of the DER, in lower-case hexadecimal digits. */
  readonly fingerprint: string;
  /** Lower-case hexadecimal digits, without leading zeros. */
  readonly serialNumber: string;
  /** Distinguished names in the form of RFC 4514. */
  readonly issuer: string;
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
}

/** Identifies the credential that a user has presented, so that this credential can be revoked. Never contains the credential itself. */
type PresentedCredential =
  | {
      readonly type: "token";
      /** The `jti` claim. */
      readonly id: string | undefined;
      /** The `iat` claim. A token without it counts as infinitely old. */
      readonly issuedAtSeconds: number | undefined;
      /** A sentence for the Warning header of every answer to a request with this token, and to a review of it. */
      readonly warning?: string;
    }
  | CertificateIdentity;

/** Outside of the user object, because reviews, audit events and certificate requests copy the content of a user. */
const presented = new WeakMap<UserInfo, PresentedCredential>();

/** Remembers which credential a user has presented. Returns the same user. */
export function withCredential(user: UserInfo, credential: PresentedCredential | undefined): UserInfo {
  if (credential !== undefined) presented.set(user, credential);
  return user;
}

/** The credential that a user has presented. Undefined if it cannot be identified, such as a static token. */
export const presentedCredential = (user: UserInfo): PresentedCredential | undefined => presented.get(user);

/** The warnings about the user's credential, for each answer to the user and for reviews of the credential. */
export function credentialWarnings(user: UserInfo): readonly string[] {
  const credential = presented.get(user);
  return credential?.type === "token" && credential.warning !== undefined ? [credential.warning] : [];
}
