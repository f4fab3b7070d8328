import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import type { IpRange } from "../../../pki/ip-address.ts";
import type { NamePattern } from "./name-pattern.ts";

/** What an operator lets be approved without a human, in order: the first rule that matches a request decides. */
export interface ApprovalPolicy {
  readonly rules: readonly ApprovalRule[];
}

export interface ApprovalRule {
  /** Unique; conditions name it. */
  readonly name: string;
  readonly match: RequestMatch;
  /** `deny` refuses whatever matches; `approve` approves what keeps the requirements and refuses the rest. */
  readonly action: "approve" | "deny";
  readonly require: RequestRequirements;
}

/** Which requests a rule is about. Every list that is given must have a match. */
export interface RequestMatch {
  /** Exact signer names; a rule names at least one. */
  readonly signers: readonly string[];
  readonly users: readonly NamePattern[] | undefined;
  readonly groups: readonly NamePattern[] | undefined;
}

/** What a request must keep. What is left out is decided strictly: see each field. */
export interface RequestRequirements {
  /** Left out: the common name is the requester's user name. */
  readonly commonNames: readonly NamePattern[] | undefined;
  /** Left out: every organization is one of the requester's groups. */
  readonly organizations: readonly NamePattern[] | undefined;
  /** Left out: no such names. */
  readonly dnsNames: readonly NamePattern[] | undefined;
  readonly ipRanges: readonly IpRange[] | undefined;
  readonly emailAddresses: readonly NamePattern[] | undefined;
  readonly uris: readonly NamePattern[] | undefined;
  /**
   * DNS names and IP addresses must be among the names and addresses of the requesting node's Node object. The node reports
   * those itself, so that `dnsNames`, `ipRanges` or both stand beside it; without `dnsNames`, the Node's own name is allowed.
   */
  readonly namesBelongToNode: boolean;
  /** Left out: whatever the signer takes, but `any`, `cert sign` and `crl sign`. */
  readonly usages: readonly string[] | undefined;
  readonly keys: readonly KeyRequirement[];
  readonly maximumLifetimeSeconds: number;
}

export interface KeyRequirement {
  readonly type: "RSA" | "ECDSA" | "Ed25519";
  readonly minimumBits: number;
}

/** Which signer a stored request is for, and who asked. */
export interface RequestIdentity {
  readonly signerName: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/** A stored request, as a policy looks at it. */
export interface ApprovalInput extends RequestIdentity {
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
  /** How long the certificate would live, in seconds: what was asked for within the signer's bounds. */
  readonly lifetimeSeconds: number;
}

/** A requirement that a request does not keep: the field of the rule, and what is wrong. */
export interface FailedRequirement {
  readonly field: keyof RequestRequirements | "subject" | "serverNames" | "extensions";
  readonly message: string;
}

/** A day: how long a certificate may live where a rule does not say. */
export const defaultMaximumLifetimeSeconds = 86_400;

/** What keys may be where a rule does not say. */
export const defaultKeys: readonly KeyRequirement[] = [
  { type: "ECDSA", minimumBits: 256 },
  { type: "RSA", minimumBits: 2048 },
  { type: "Ed25519", minimumBits: 256 },
];
