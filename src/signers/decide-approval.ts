import { nodeUsernamePrefix } from "../api/user-info.ts";
import type { CertificateRequest } from "../pki/certificate-request.ts";
import { isInIpRange, parseIpAddress } from "../pki/ip-address.ts";
import type { ApprovalPolicy, ApprovalRule, RequestMatch, RequestRequirements } from "./approval-policy.ts";
import type { NamePattern } from "./name-pattern.ts";

/** Which signer a stored request is for, and who asked. */
export interface RequestIdentity {
  readonly signerName: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/** A stored request, as a policy looks at it. */
export interface ApprovalQuestion extends RequestIdentity {
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
  /** How long the certificate would live, in seconds: what was asked for within the signer's bounds. */
  readonly lifetimeSeconds: number;
}

/** The names of a Node object. */
export interface NodeNames {
  /** The node's name and its addresses of the types Hostname, InternalDNS and ExternalDNS. */
  readonly dnsNames: readonly string[];
  /** Its addresses of the types InternalIP and ExternalIP. */
  readonly ipAddresses: readonly string[];
}

/** A requirement that a request does not keep: the field of the rule, and what is wrong. */
export interface FailedRequirement {
  readonly field: keyof RequestRequirements | "subject";
  readonly message: string;
}

export type ApprovalDecision =
  | { readonly type: "undecided" }
  | { readonly type: "approved"; readonly rule: string }
  | { readonly type: "denied"; readonly rule: string; readonly failed: readonly FailedRequirement[] };

/** The node that a user name belongs to, or undefined. */
export const requestingNodeName = (username: string): string | undefined =>
  username.startsWith(nodeUsernamePrefix) ? username.slice(nodeUsernamePrefix.length) : undefined;

/**
 * What the policy says of a request: the first rule that matches decides, and without one nothing is decided. `findNode`
 * is asked for the requesting node only when the rule wants its names.
 */
export function decideApproval(
  policy: ApprovalPolicy,
  question: ApprovalQuestion,
  findNode: (name: string) => NodeNames | undefined,
): ApprovalDecision {
  const rule = policy.rules.find(({ match }) => isAbout(match, question));
  if (rule === undefined) return { type: "undecided" };
  if (rule.action === "deny") return { type: "denied", rule: rule.name, failed: [] };
  const failed = [
    ...subjectFaults(rule.require, question),
    ...nameFaults(rule.require, question),
    ...nodeFaults(rule, question, findNode),
    ...otherFaults(rule.require, question),
  ];
  return failed.length === 0 ? { type: "approved", rule: rule.name } : { type: "denied", rule: rule.name, failed };
}

/** Reason and message of the condition that a decision becomes. */
export function approvalCondition(decision: Exclude<ApprovalDecision, { readonly type: "undecided" }>): {
  readonly type: "Approved" | "Denied";
  readonly reason: string;
  readonly message: string;
} {
  const rule = JSON.stringify(decision.rule);
  if (decision.type === "approved") {
    return { type: "Approved", reason: "ApprovalPolicy", message: `Approved by rule ${rule} of the approval policy.` };
  }
  const faults = decision.failed.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return {
    type: "Denied",
    reason: "ApprovalPolicy",
    message: `Denied by rule ${rule} of the approval policy${faults === "" ? "" : `: ${faults}`}.`,
  };
}

/** Whether a rule of the policy is about a request: then the policy decides it, and nothing else may. */
export const isDecidedByPolicy = (policy: ApprovalPolicy, request: RequestIdentity): boolean =>
  policy.rules.some(({ match }) => isAbout(match, request));

const matchesAny = (patterns: readonly NamePattern[], name: string): boolean =>
  patterns.some((pattern) => pattern.matches(name));

function isAbout(match: RequestMatch, { signerName, username, groups }: RequestIdentity): boolean {
  return (
    match.signers.includes(signerName) &&
    (match.users === undefined || matchesAny(match.users, username)) &&
    (match.groups === undefined || groups.some((group) => matchesAny(match.groups ?? [], group)))
  );
}

const commonNameAndOrganization = new Set(["2.5.4.3", "2.5.4.10"]);

function subjectFaults(require: RequestRequirements, question: ApprovalQuestion): FailedRequirement[] {
  const { commonName, organizations, relativeNames } = question.request.subject;
  const faults: FailedRequirement[] = [];
  if (require.commonNames === undefined) {
    if (commonName !== question.username) {
      faults.push({ field: "commonNames", message: `${JSON.stringify(commonName)} is not the requester's user name` });
    }
  } else if (!matchesAny(require.commonNames, commonName)) {
    faults.push({ field: "commonNames", message: `${JSON.stringify(commonName)} is not allowed` });
  }
  for (const organization of organizations) {
    if (require.organizations === undefined) {
      if (question.groups.includes(organization)) continue;
      faults.push({
        field: "organizations",
        message: `${JSON.stringify(organization)} is not a group of the requester`,
      });
    } else if (!matchesAny(require.organizations, organization)) {
      faults.push({ field: "organizations", message: `${JSON.stringify(organization)} is not allowed` });
    }
  }
  if (relativeNames.flat().some(({ type }) => !commonNameAndOrganization.has(type))) {
    faults.push({ field: "subject", message: "only a common name and organizations are allowed" });
  }
  return faults;
}

function nameFaults(require: RequestRequirements, { request }: ApprovalQuestion): FailedRequirement[] {
  const { dnsNames, ipAddresses, emailAddresses, uris } = request.subjectAltNames;
  const faults: FailedRequirement[] = [];
  const refuse = (field: FailedRequirement["field"], name: string): void => {
    faults.push({ field, message: `${JSON.stringify(name)} is not allowed` });
  };
  for (const name of dnsNames) {
    // A wildcard in a certificate covers more names than the pattern's author can have thought of.
    if (name.includes("*")) refuse("dnsNames", name);
    else if (
      require.dnsNames === undefined ? !require.namesBelongToNode : !matchesAny(require.dnsNames, name.toLowerCase())
    ) {
      refuse("dnsNames", name);
    }
  }
  for (const text of ipAddresses) {
    const address = parseIpAddress(text);
    const isAllowed =
      require.ipRanges === undefined
        ? require.namesBelongToNode
        : address !== undefined && require.ipRanges.some((range) => isInIpRange(address, range));
    if (!isAllowed) refuse("ipRanges", text);
  }
  for (const address of emailAddresses)
    if (!matchesAny(require.emailAddresses ?? [], address)) refuse("emailAddresses", address);
  for (const uri of uris) if (!matchesAny(require.uris ?? [], uri)) refuse("uris", uri);
  return faults;
}

function nodeFaults(
  { require }: ApprovalRule,
  { username, request }: ApprovalQuestion,
  findNode: (name: string) => NodeNames | undefined,
): FailedRequirement[] {
  if (!require.namesBelongToNode) return [];
  const field = "namesBelongToNode";
  const nodeName = requestingNodeName(username);
  if (nodeName === undefined) return [{ field, message: "the requester is not a node" }];
  const node = findNode(nodeName);
  if (node === undefined) return [{ field, message: `there is no node ${JSON.stringify(nodeName)}` }];
  const faults: FailedRequirement[] = [];
  const ownDnsNames = new Set(node.dnsNames.map((name) => name.toLowerCase()));
  for (const name of request.subjectAltNames.dnsNames) {
    if (!ownDnsNames.has(name.toLowerCase()))
      faults.push({ field, message: `${JSON.stringify(name)} is not a name of the node` });
  }
  const ownAddresses = new Set(node.ipAddresses.map((address) => parseIpAddress(address)?.toString("hex")));
  for (const address of request.subjectAltNames.ipAddresses) {
    if (!ownAddresses.has(parseIpAddress(address)?.toString("hex"))) {
      faults.push({ field, message: `${address} is not an address of the node` });
    }
  }
  return faults;
}

function otherFaults(require: RequestRequirements, question: ApprovalQuestion): FailedRequirement[] {
  const faults: FailedRequirement[] = [];
  for (const usage of question.usages) {
    if (require.usages?.includes(usage) === false) {
      faults.push({ field: "usages", message: `${JSON.stringify(usage)} is not allowed` });
    }
  }
  const { algorithm, sizeBits } = question.request.publicKey;
  if (!require.keys.some(({ type, minimumBits }) => type === algorithm && sizeBits >= minimumBits)) {
    faults.push({ field: "keys", message: `${algorithm} with ${sizeBits} bits is not allowed` });
  }
  if (require.maximumLifetimeSeconds !== undefined && question.lifetimeSeconds > require.maximumLifetimeSeconds) {
    const message = `${question.lifetimeSeconds} seconds are more than ${require.maximumLifetimeSeconds}`;
    faults.push({ field: "maximumLifetimeSeconds", message });
  }
  return faults;
}
