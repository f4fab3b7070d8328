import type { Names } from "../../../machinery/api/names.ts";
import { mastersGroup, nodesGroup, nodeUsernamePrefix } from "../../../machinery/api/user-info.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { dnsNameFault } from "../../../pki/names/dns-name.ts";
import { minimumRsaBits } from "../../../pki/keys/public-key.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { requestsCaCertificate, countUnsupportedNames, requestedPowers } from "../requests/requested-extensions.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { namesNotOfNode } from "../signers/node-names.ts";
import type { NodeNames } from "../signers/node-names.ts";
import type { ServerIdentity } from "../signers/server-identity.ts";
import { hostNamesOf, serverNamesIn } from "../signers/server-names.ts";
import { authorityUsages } from "../signers/usages.ts";

interface ApprovalWarningInput {
  readonly names: Names;
  readonly spec: CertificateSigningRequest["spec"];
  readonly request: CertificateRequest;
  readonly context: RequestContext;
}

/** The facts that the server knows in addition to the request. */
export interface RequestContext {
  /** The names and CAs of the API server. */
  readonly server: ServerIdentity;
  /** The names of the requesting node. Undefined when the requester is not a node, or the caller may not read nodes. */
  readonly node: NodeNames | "not registered" | undefined;
}

/** Returns the risks of approving a request, one sentence each. Empty when nothing is unusual. */
export const approvalWarnings = (input: ApprovalWarningInput): string[] => [
  ...identityWarnings(input),
  ...nameWarnings(input),
  ...keyWarnings(input),
  ...scopeWarnings(input),
];

/** Warnings about the user and groups that the certificate would give its holder. */
function identityWarnings({ names, spec, request }: ApprovalWarningInput): string[] {
  const { commonName, organizations } = request.subject;
  const { username = "", groups = [], signerName } = spec;
  const signer = findWellKnownSigner(names, signerName);
  const isOfNode = signer?.certifies === "node";
  const warnings: string[] = [];
  if (organizations.includes(mastersGroup)) {
    warnings.push(`the organization ${mastersGroup} has all permissions, and RBAC cannot take them away`);
  }
  if (commonName !== username && signer !== undefined) {
    warnings.push(`the subject ${quoted(commonName)} is not the requester ${quoted(username)}`);
  }
  for (const organization of organizations) {
    if (organization === mastersGroup || (isOfNode && organization === nodesGroup) || groups.includes(organization)) {
      continue;
    }
    warnings.push(`the organization ${quoted(organization)} is not a group of the requester`);
  }
  if (commonName.startsWith(nodeUsernamePrefix)) {
    if (!isOfNode) warnings.push("the subject is a node's user name");
  } else if (commonName.startsWith("system:")) warnings.push("the subject is a reserved user name");
  return warnings;
}

/** Warnings about the names that the holder could serve under. */
function nameWarnings({ spec, request, context }: ApprovalWarningInput): string[] {
  const { subjectAltNames } = request;
  const { server, node } = context;
  const odd = subjectAltNames.dnsNames.flatMap((name) => {
    const fault = dnsNameFault(name.toLowerCase(), { allowsWildcard: true });
    return fault === undefined ? [] : [`${quoted(name)} is not a DNS name: it ${fault}`];
  });
  return [
    ...serverNamesIn(hostNamesOf(request, spec.usages ?? []), server.names).map(
      (name) => `${quoted(name)} is a name of the API server: the holder could impersonate it`,
    ),
    ...(node === "not registered" ? ["the requesting node is not registered"] : []),
    ...(typeof node === "object" ? namesNotOfNode(subjectAltNames, node) : []),
    ...odd,
    ...(countUnsupportedNames(request) === 0 ? [] : ["the request contains names of types that are not shown here"]),
  ];
}

const smallestBits = { RSA: minimumRsaBits, ECDSA: 256, Ed25519: 0, other: Infinity } as const;

function keyWarnings({ names, spec, request: { publicKey, signatureAlgorithm } }: ApprovalWarningInput): string[] {
  const { algorithm, sizeBits } = publicKey;
  // The rules of such a signer refuse the key, which is said already.
  const isRefused = algorithm === "RSA" && findWellKnownSigner(names, spec.signerName) !== undefined;
  const isWeak = sizeBits < smallestBits[algorithm] && !isRefused;
  const hash = signatureAlgorithm?.hash;
  return [
    ...(isWeak ? [`the key is weak: ${algorithm} with ${sizeBits} bits`] : []),
    ...(hash === "sha1" || hash === "md5" ? [`the request's signature is weak: ${signatureAlgorithm?.name}`] : []),
  ];
}

/** Warnings about the usages of the certificate. */
function scopeWarnings({ spec, request }: ApprovalWarningInput): string[] {
  // The signer may copy usages that the request's extensions ask for.
  const usages = [...new Set([...(spec.usages ?? []), ...requestedPowers(request)])];
  const wildcards = request.subjectAltNames.dnsNames.filter((name) => name.includes("*"));
  return [
    ...request.ambiguities.map((why) => `other programs may read another request: ${why}`),
    ...(requestsCaCertificate(request) ? ["the request asks for a CA certificate"] : []),
    ...usages.filter((usage) => authorityUsages.includes(usage)).map((usage) => `the usage "${usage}" is for CAs only`),
    ...(usages.includes("any") ? ['the usage "any" allows everything'] : []),
    ...(usages.includes("ocsp signing")
      ? ['with the usage "ocsp signing" the holder says which certificates of the CA are revoked']
      : []),
    ...wildcards.map((name) => `the DNS name ${quoted(name)} matches every name in its domain`),
  ];
}

const quoted = (text: string): string => JSON.stringify(text);
