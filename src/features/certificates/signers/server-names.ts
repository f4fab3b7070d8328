import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { normalIpAddress, parseIpAddress } from "../../../pki/names/ip-address.ts";
import { attributeTypes } from "../../../pki/der/object-identifiers.ts";
import type { ExtendedKeyUsageName } from "../../../pki/der/object-identifiers.ts";
import type { SubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { certificateUsagesOf } from "./usages.ts";

/** Names and addresses that a server certificate may contain. */
export type HostNames = Pick<SubjectAltNames, "dnsNames" | "ipAddresses">;

/** The names and addresses in the serving certificate of the API server. */
export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Names that programs in Pods and on the machine itself may use for the server, even if the certificate does not contain them now. */
const fixedDnsNames: readonly string[] = [
  "localhost",
  ...["kubernetes", "platform"].flatMap((service) =>
    ["", ".default", ".default.svc", ".default.svc.cluster.local"].map((suffix) => service + suffix),
  ),
];

/** Loopback addresses, and the unspecified address (RFC 6890 2.2). */
const isFixedAddress = (address: Buffer): boolean =>
  address.length === 4
    ? address[0] === 127 || address[0] === 0
    : address.subarray(0, 15).every((octet) => octet === 0) && (address[15] ?? 0) <= 1;

/** Clients accept a certificate with one of these purposes, or without any, for a server. OpenSSL also accepts the last two. */
const purposesOfServers: ReadonlySet<ExtendedKeyUsageName> = new Set([
  "any",
  "serverAuth",
  "microsoftServerGatedCrypto",
  "netscapeServerGatedCrypto",
]);

/**
 * The names under which the certificate of a request could serve. For a certificate without DNS names, OpenSSL and programs built on it use
 * each common name as a DNS name (RFC 6125 section 6.4.4), unless the usages exclude servers.
 */
export function hostNamesOf(
  { subject, subjectAltNames }: Pick<CertificateRequest, "subject" | "subjectAltNames">,
  usages: readonly string[],
): HostNames {
  if (subjectAltNames.dnsNames.length > 0) return subjectAltNames;
  const { extendedKeyUsages: purposes } = certificateUsagesOf(usages);
  if (purposes.length > 0 && !purposes.some((purpose) => purposesOfServers.has(purpose))) return subjectAltNames;
  const commonNames = subject.relativeNames
    .flat()
    .flatMap(({ type, value }) => (type === attributeTypes.commonName ? [value] : []));
  return { dnsNames: commonNames, ipAddresses: subjectAltNames.ipAddresses };
}

/**
 * Returns the wanted names that belong to the server, as they were written: a certificate for one of them would let its
 * holder impersonate the server. Names are compared without case and final dot, and wildcards in both directions.
 * Addresses are compared by their octets, also when they are written as a DNS name.
 */
export function serverNamesIn(wanted: HostNames, server: ServerNames): string[] {
  if (wanted.dnsNames.length + wanted.ipAddresses.length === 0) return []; // as in most requests of clients
  const serverDnsNames = server.dnsNames.map(comparable);
  const serverAddresses = new Set(
    [...server.ipAddresses, ...serverDnsNames].flatMap((text) => parseIpAddress(text)?.toString("hex") ?? []),
  );
  const isServerAddress = (text: string): boolean => {
    const address = parseIpAddress(text);
    return address !== undefined && (isFixedAddress(address) || serverAddresses.has(address.toString("hex")));
  };
  const labelsOf = (name: string): readonly string[] => name.split(".");
  const ownWildcards = serverDnsNames.filter(isWildcard).map(labelsOf);
  const ownNames = new Set([...serverDnsNames, ...fixedDnsNames]);
  const labelsOfOwnNames = [...ownNames].map(labelsOf);
  const isServerName = (text: string): boolean => {
    const name = comparable(text);
    const labels = labelsOf(name); // once: a request may have a megabyte of names
    return (
      isServerAddress(name) ||
      name.endsWith(".localhost") ||
      ownNames.has(name) ||
      ownWildcards.some((own) => covers(own, labels)) ||
      (isWildcard(name) && labelsOfOwnNames.some((own) => covers(labels, own)))
    );
  };
  return [...wanted.dnsNames.filter(isServerName), ...wanted.ipAddresses.filter(isServerAddress)];
}

/** A name as the most lenient client reads it: in lower case, up to the first character that is not allowed in names. */
const comparable = (name: string): string => {
  const [visible = ""] = name.trimStart().split(/[^\x21-\x7e]/);
  const lower = visible.toLowerCase().replace(/\.$/, "");
  return normalIpAddress(lower.replace(/^\[|\]$/g, "")) ?? lower;
};

const isWildcard = (name: string): boolean => name.includes("*");

/**
 * Whether the labels of a wildcard match the labels of a name. `*` matches a label or a part of one: RFC 6125 6.4.3 lets clients decide
 * about parts. Takes linear time.
 */
const covers = (wildcard: readonly string[], name: readonly string[]): boolean =>
  wildcard.length === name.length && wildcard.every((pattern, index) => isLike(pattern, name[index] ?? ""));

/** Whether a label contains the parts of a pattern between its asterisks, in order. */
function isLike(pattern: string, label: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  if (last === undefined) return first === label;
  if (!label.startsWith(first) || !label.endsWith(last)) return false;
  let place = first.length;
  for (const piece of pieces) {
    place = label.indexOf(piece, place);
    if (place < 0) return false;
    place += piece.length;
  }
  return place <= label.length - last.length;
}
