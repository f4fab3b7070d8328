import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import type { IpRange } from "../../../pki/ip-address.ts";
import type { NamePattern } from "./name-pattern.ts";

/** The rules by which requests are approved or denied automatically. The first rule that matches a request decides. */
export interface ApprovalPolicy {
  readonly rules: readonly ApprovalRule[];
}

export interface ApprovalRule {
  /** Unique; conditions name it. */
  readonly name: string;
  readonly match: RequestMatch;
  /**
   * `deny` denies every matching request. `approve` approves requests that meet the requirements, and denies the rest.
   */
  readonly action: "approve" | "deny";
  readonly require: RequestRequirements;
}

/** Selects the requests that a rule decides. Every list that is set must have a match. */
export interface RequestMatch {
  /** Exact signer names; a rule names at least one. */
  readonly signers: readonly string[];
  readonly users: readonly NamePattern[] | undefined;
  readonly groups: readonly NamePattern[] | undefined;
}

/** The requirements for a request. Omitted fields have strict defaults: see each field. */
export interface RequestRequirements {
  /** Omitted: the common name must be the requester's user name. */
  readonly commonNames: readonly NamePattern[] | undefined;
  /** Omitted: every organization must be one of the requester's groups. */
  readonly organizations: readonly NamePattern[] | undefined;
  /** Omitted: no such names are allowed. */
  readonly dnsNames: readonly NamePattern[] | undefined;
  readonly ipRanges: readonly IpRange[] | undefined;
  readonly emailAddresses: readonly NamePattern[] | undefined;
  readonly uris: readonly NamePattern[] | undefined;
  /**
   * DNS names and IP addresses must be among the names and addresses of the requesting node's Node object. The node
   * reports these itself, so `dnsNames`, `ipRanges` or both are required too. Without `dnsNames`, only the Node's own
   * name is allowed.
   */
  readonly namesBelongToNode: boolean;
  /** Omitted: every usage that the signer accepts, except `any`, `cert sign` and `crl sign`. */
  readonly usages: readonly string[] | undefined;
  readonly keys: readonly KeyRequirement[];
  readonly maximumLifetimeSeconds: number;
}

export interface KeyRequirement {
  readonly type: "RSA" | "ECDSA" | "Ed25519";
  readonly minimumBits: number;
}

/** The signer and the requester of a stored request. */
export interface RequestIdentity {
  readonly signerName: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/** The attributes of a stored request that a policy checks. */
export interface ApprovalInput extends RequestIdentity {
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
  /** The lifetime of the certificate in seconds: the requested one, within the signer's limits. */
  readonly lifetimeSeconds: number;
}

/** A requirement that a request does not meet: the field of the rule, and what is wrong. */
export interface FailedRequirement {
  readonly field: keyof RequestRequirements | "subject" | "serverNames" | "extensions";
  readonly message: string;
}

/** The maximum lifetime when a rule sets none: one day. */
export const defaultMaximumLifetimeSeconds = 86_400;

/** The allowed keys when a rule sets none. */
export const defaultKeys: readonly KeyRequirement[] = [
  { type: "ECDSA", minimumBits: 256 },
  { type: "RSA", minimumBits: 2048 },
  { type: "Ed25519", minimumBits: 256 },
];
