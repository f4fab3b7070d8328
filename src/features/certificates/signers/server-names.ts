import { formatIpAddress, parseIpAddress } from "../../../pki/ip-address.ts";
import type { SubjectAltNames } from "../../../pki/subject-alt-names.ts";

/** Names and addresses under which clients verify the API server: what its serving certificate holds. */
export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Programs in Pods and on the machine itself know the server by these, whether or not its certificate says so today. */
const fixedDnsNames = ["localhost", "kubernetes", "platform"];
const serviceSuffixes = [".default", ".default.svc", ".default.svc.cluster.local"];

const isFixed = (name: string): boolean =>
  fixedDnsNames.includes(name) ||
  name.endsWith(".localhost") ||
  serviceSuffixes.some((suffix) => name === `kubernetes${suffix}` || name === `platform${suffix}`);

/** Loopback, and the addresses that stand for every one of a machine (RFC 6890 2.2). */
const isFixedAddress = (address: Buffer): boolean =>
  address.length === 4
    ? address[0] === 127 || address[0] === 0
    : address.subarray(0, 15).every((octet) => octet === 0) && (address[15] ?? 0) <= 1;

/**
 * Those of the wanted names that are the server's own, as they were written: who holds a certificate for one of them can be
 * the server to its clients. Names are compared without case and final dot, and as wildcards in both directions; addresses
 * by their octets, also where a DNS name spells one.
 */
export function serverNamesIn(
  wanted: Pick<SubjectAltNames, "dnsNames" | "ipAddresses">,
  server: ServerNames,
): string[] {
  const serverDnsNames = server.dnsNames.map(comparable);
  const serverAddresses = new Set(
    [...server.ipAddresses, ...serverDnsNames].flatMap((text) => parseIpAddress(text)?.toString("hex") ?? []),
  );
  const isServerAddress = (text: string): boolean => {
    const address = parseIpAddress(text);
    return address !== undefined && (isFixedAddress(address) || serverAddresses.has(address.toString("hex")));
  };
  const isServerName = (text: string): boolean => {
    const name = comparable(text);
    return (
      isServerAddress(name) ||
      isFixed(name) ||
      serverDnsNames.some((own) => own === name || covers(own, name) || covers(name, own)) ||
      [...fixedDnsNames, ...serviceNames].some((own) => covers(name, own))
    );
  };
  return [...wanted.dnsNames.filter(isServerName), ...wanted.ipAddresses.filter(isServerAddress)];
}

const serviceNames = ["kubernetes", "platform"].flatMap((word) => serviceSuffixes.map((suffix) => word + suffix));

/** As the most careless reader takes it: in lower case, up to the first character that no name has. */
const comparable = (name: string): string => {
  const [visible = ""] = name.trimStart().split(/[^\x21-\x7e]/);
  const lower = visible.toLowerCase().replace(/\.$/, "");
  const address = parseIpAddress(lower.replace(/^\[|\]$/g, ""));
  return address === undefined ? lower : formatIpAddress(address);
};

/**
 * Whether a wildcard stands for a name. `*` is a label, or a part of any one: RFC 6125 6.4.3 leaves the second to the client.
 * Takes linear time.
 */
function covers(wildcard: string, name: string): boolean {
  if (!wildcard.includes("*")) return false;
  const labels = name.split(".");
  const patterns = wildcard.split(".");
  return patterns.length === labels.length && patterns.every((pattern, index) => isLike(pattern, labels[index] ?? ""));
}

/** Whether a label holds the pieces of a pattern around its asterisks, in their order. */
function isLike(pattern: string, label: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  if (last === undefined) return first === label;
  if (label.length < first.length + last.length || !label.startsWith(first) || !label.endsWith(last)) return false;
  let place = first.length;
  for (const piece of pieces) {
    place = label.indexOf(piece, place);
    if (place < 0) return false;
    place += piece.length;
  }
  return place <= label.length - last.length;
}
