import { normalIpAddress } from "../../../pki/names/ip-address.ts";
import type { SubjectAltNames } from "../../../pki/names/subject-alt-names.ts";

export interface NodeNames {
  /** The node's name and its addresses of the types Hostname, InternalDNS and ExternalDNS. */
  readonly dnsNames: readonly string[];
  /** The node's addresses of the types InternalIP and ExternalIP. */
  readonly ipAddresses: readonly string[];
}

/** The fields of a Node object that contain its names. */
export interface NamedNode {
  readonly metadata: { readonly name?: string | undefined };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[] | undefined;
  };
}

const dnsTypes: ReadonlySet<string> = new Set(["Hostname", "InternalDNS", "ExternalDNS"]);
const ipTypes: ReadonlySet<string> = new Set(["InternalIP", "ExternalIP"]);

/** The names and addresses of a node. The node itself reports all of them, except its name. */
export function namesOfNode({ metadata, status }: NamedNode): NodeNames {
  const addresses = status?.addresses ?? [];
  const ofTypes = (types: ReadonlySet<string>): string[] =>
    addresses.filter(({ type }) => types.has(type)).map(({ address }) => address);
  return { dnsNames: [metadata.name ?? "", ...ofTypes(dnsTypes)], ipAddresses: ofTypes(ipTypes) };
}

/** Returns the wanted names that are not names of the node, one sentence each. */
export function namesNotOfNode(wanted: SubjectAltNames, node: NodeNames): string[] {
  const dnsNames = new Set(node.dnsNames.map((name) => name.toLowerCase()));
  const addresses = new Set(node.ipAddresses.map(normalIpAddress));
  return [
    ...wanted.dnsNames
      .filter((name) => !dnsNames.has(name.toLowerCase()))
      .map((name) => `${JSON.stringify(name)} is not a name of the node`),
    ...wanted.ipAddresses
      .filter((address) => !addresses.has(normalIpAddress(address)))
      .map((address) => `${address} is not an address of the node`),
  ];
}
