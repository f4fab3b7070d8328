import { parseIpAddress } from "../../../pki/ip-address.ts";
import type { SubjectAltNames } from "../../../pki/subject-alt-names.ts";

/** The names of a Node object. */
export interface NodeNames {
  /** The node's name and its addresses of the types Hostname, InternalDNS and ExternalDNS. */
  readonly dnsNames: readonly string[];
  /** Its addresses of the types InternalIP and ExternalIP. */
  readonly ipAddresses: readonly string[];
}

/** As much of a Node object as says how it is called. */
export interface NamedNode {
  readonly metadata: { readonly name?: string | undefined };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[] | undefined;
  };
}

const dnsTypes: ReadonlySet<string> = new Set(["Hostname", "InternalDNS", "ExternalDNS"]);
const ipTypes: ReadonlySet<string> = new Set(["InternalIP", "ExternalIP"]);

/** What a node is called by itself: everything but its name is what it reports. */
export function namesOfNode({ metadata, status }: NamedNode): NodeNames {
  const addresses = status?.addresses ?? [];
  const ofTypes = (types: ReadonlySet<string>): string[] =>
    addresses.filter(({ type }) => types.has(type)).map(({ address }) => address);
  return { dnsNames: [metadata.name ?? "", ...ofTypes(dnsTypes)], ipAddresses: ofTypes(ipTypes) };
}

/** Which of the wanted names are not a node's, one sentence each. */
export function namesNotOfNode(wanted: SubjectAltNames, node: NodeNames): string[] {
  const dnsNames = new Set(node.dnsNames.map((name) => name.toLowerCase()));
  const addresses = new Set(node.ipAddresses.map((address) => parseIpAddress(address)?.toString("hex")));
  return [
    ...wanted.dnsNames
      .filter((name) => !dnsNames.has(name.toLowerCase()))
      .map((name) => `${JSON.stringify(name)} is not a name of the node`),
    ...wanted.ipAddresses
      .filter((address) => !addresses.has(parseIpAddress(address)?.toString("hex")))
      .map((address) => `${address} is not an address of the node`),
  ];
}
