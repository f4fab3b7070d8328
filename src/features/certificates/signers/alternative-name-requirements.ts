import { dnsNameFault } from "../../../pki/names/dns-name.ts";
import { isInIpRange, parseIpAddress } from "../../../pki/names/ip-address.ts";
import type { SubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import type { ApprovalInput, FailedRequirement, RequestRequirements } from "../policy/approval-policy.ts";
import { matchesAny } from "../policy/name-pattern.ts";
import { namesNotOfNode } from "./node-names.ts";
import type { NodeNames } from "./node-names.ts";
import { hostNamesOf, serverNamesIn } from "./server-names.ts";
import type { ServerNames } from "./server-names.ts";

export interface RequesterNode {
  /** Undefined: the requester is not a node. */
  readonly name: string | undefined;
  /** Undefined: the Node does not exist. */
  readonly names: NodeNames | undefined;
}

export interface NameRequirements {
  readonly require: RequestRequirements;
  readonly node: () => RequesterNode;
  /** Whether a Node with this name exists. */
  readonly isNode: (name: string) => boolean;
  readonly serverNames: ServerNames;
}

/** Returns the subject alternative names that break a rule's requirements. */
export function alternativeNameFaults(
  { request, usages }: ApprovalInput,
  { require, node, isNode, serverNames }: NameRequirements,
): FailedRequirement[] {
  const owner = require.namesBelongToNode ? node() : undefined;
  const ownNames = new Set(owner?.names?.dnsNames.map((name) => name.toLowerCase()));
  // Without patterns, a rule for nodes allows the Node's own name, but not the names that the node reports.
  const isNodesOwn = (name: string): boolean => owner !== undefined && (name === owner.name || !ownNames.has(name));
  const isOfAnotherNode = (text: string): boolean => {
    const name = text.toLowerCase();
    return ownNames.has(name) && name !== owner?.name && isNode(name);
  };
  const faults: FailedRequirement[] = [
    ...namePatternFaults(request.subjectAltNames, { allowed: require, isAllowedWithoutPatterns: isNodesOwn }),
    ...request.subjectAltNames.dnsNames.filter(isOfAnotherNode).map((name) => ({
      field: "namesBelongToNode" as const,
      message: `${JSON.stringify(name)} is the name of another node`,
    })),
    ...serverNamesIn(hostNamesOf(request, usages), serverNames).map((name) => ({
      field: "serverNames" as const,
      message: `${JSON.stringify(name)} is a name of the API server: no policy can approve it`,
    })),
  ];
  // Only this check reports names that are not names of the node at all.
  return owner === undefined ? faults : [...faults, ...foreignNames(request.subjectAltNames, owner)];
}

/** The allowed subject alternative names. Omitted: none of that type. */
export type NamePatterns = Pick<RequestRequirements, "dnsNames" | "ipRanges" | "emailAddresses" | "uris">;

interface AllowedNames {
  readonly allowed: NamePatterns;
  /** Decides about DNS names (in lower case) when there are no patterns. Default: none is allowed. */
  readonly isAllowedWithoutPatterns?: (dnsName: string) => boolean;
}

/**
 * Returns the names that no pattern allows. A name must be valid before a pattern is tried: programs disagree about
 * where an invalid name ends.
 */
export function namePatternFaults(
  { dnsNames, ipAddresses, emailAddresses, uris }: SubjectAltNames,
  { allowed, isAllowedWithoutPatterns = () => false }: AllowedNames,
): FailedRequirement[] {
  const faults: FailedRequirement[] = [];
  const refuse = (name: string, { field, why = "is not allowed" }: Refusal): void => {
    faults.push({ field, message: `${JSON.stringify(name)} ${why}` });
  };
  for (const text of dnsNames) {
    const name = text.toLowerCase();
    const fault = dnsNameFault(name, { allowsWildcard: false });
    const isAllowed =
      allowed.dnsNames === undefined ? isAllowedWithoutPatterns(name) : matchesAny(allowed.dnsNames, name);
    if (fault !== undefined) refuse(text, { field: "dnsNames", why: `is not a DNS name: it ${fault}` });
    else if (!isAllowed) refuse(text, { field: "dnsNames" });
  }
  for (const text of ipAddresses) {
    const address = parseIpAddress(text);
    const isAllowed = address !== undefined && allowed.ipRanges?.some((range) => isInIpRange(address, range)) === true;
    if (!isAllowed) refuse(text, { field: "ipRanges" });
  }
  for (const address of emailAddresses) {
    if (!isPlainMailbox(address)) refuse(address, { field: "emailAddresses", why: "is not a plain email address" });
    else if (!matchesAny(allowed.emailAddresses ?? [], address)) refuse(address, { field: "emailAddresses" });
  }
  for (const uri of uris) {
    if (!isPlainUri(uri)) refuse(uri, { field: "uris", why: "is not a plain URI" });
    else if (!matchesAny(allowed.uris ?? [], uri)) refuse(uri, { field: "uris" });
  }
  return faults;
}

interface Refusal {
  readonly field: keyof NamePatterns;
  readonly why?: string;
}

function foreignNames(wanted: SubjectAltNames, { name, names }: RequesterNode): FailedRequirement[] {
  const field = "namesBelongToNode";
  if (name === undefined) return [{ field, message: "the requester is not a node" }];
  if (names === undefined) return [{ field, message: `there is no node ${JSON.stringify(name)}` }];
  return namesNotOfNode(wanted, names).map((message) => ({ field, message }));
}

/** An address without quotes, comments and escapes (RFC 5321 4.1.2: Dot-string), with a valid host name. */
function isPlainMailbox(address: string): boolean {
  const at = address.lastIndexOf("@");
  const local = address.slice(0, Math.max(0, at));
  return (
    /^(?=.{1,64}$)[\w!#$%&'+/=?^`{|}~-]+(\.[\w!#$%&'+/=?^`{|}~-]+)*$/.test(local) &&
    dnsNameFault(address.slice(at + 1).toLowerCase(), { allowsWildcard: false }) === undefined
  );
}

const longestUri = 2048;

/** A URI that every program reads in the same way: without escapes, query, user and dot segments (RFC 3986 6.2). */
function isPlainUri(uri: string): boolean {
  if (uri.length > longestUri) return false;
  const [, rest = ""] = /^[a-z][a-z0-9+.-]*:([\w\-.~:/@!$&'()*+,;=]+)$/.exec(uri) ?? [];
  const [host = "", ...segments] = rest.startsWith("//") ? rest.slice(2).split("/") : ["", ...rest.split("/")];
  const [, name = "", port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(host) ?? [];
  const isHost = dnsNameFault(name, { allowsWildcard: false }) === undefined || parseIpAddress(name) !== undefined;
  if (rest.startsWith("//") && (!isHost || Number(port ?? 0) >= 65_536)) return false;
  return segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
}
