import type { UserInfo } from "../api/user-info.ts";

/** What a revocation names a certificate by. */
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

/** What identifies the credential that a user has presented, so that it can be revoked alone. Never the credential itself. */
export type PresentedCredential =
  | {
      readonly type: "token";
      /** The `jti` claim. */
      readonly id: string | undefined;
      /** The `iat` claim. A token without it is as old as can be. */
      readonly issuedAtSeconds: number | undefined;
      /** A sentence for the Warning header of every answer to it, and of its reviews. */
      readonly warning?: string;
    }
  | CertificateIdentity;

/** Beside the user, not in it: reviews, audit events and certificate requests copy what is in a user. */
const presented = new WeakMap<UserInfo, PresentedCredential>();

/** Remembers which credential a user has presented. Returns the same user. */
export function withCredential(user: UserInfo, credential: PresentedCredential | undefined): UserInfo {
  if (credential !== undefined) presented.set(user, credential);
  return user;
}

/** Undefined for users whose credential has no identity of its own, such as a static token. */
export const presentedCredential = (user: UserInfo): PresentedCredential | undefined => presented.get(user);

/** What the user is told of the credential in each answer, as is who has it reviewed. */
export function credentialWarnings(user: UserInfo): readonly string[] {
  const credential = presented.get(user);
  return credential?.type === "token" && credential.warning !== undefined ? [credential.warning] : [];
}
