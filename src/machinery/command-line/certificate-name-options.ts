import type { Command } from "commander";
import { dnsNameFault } from "../../pki/names/dns-name.ts";
import { normalIpAddress } from "../../pki/names/ip-address.ts";
import { mailboxOf } from "../../pki/names/mailbox.ts";
import type { SubjectAltNames } from "../../pki/names/subject-alt-names.ts";
import { readUri } from "../../pki/names/uri.ts";
import { UsageError } from "./settings/flag.ts";
import { repeatedOption } from "./options.ts";

/** The flags for the subject, the names and the usages of a certificate to request. */
export interface CertificateNameFlags {
  readonly commonName?: string;
  readonly organization?: readonly string[];
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly email?: readonly string[];
  readonly uri?: readonly string[];
  readonly usage?: readonly string[];
}

/** Adds the flags of `CertificateNameFlags`. `defaultCommonName` is for the help. */
export const withCertificateNameFlags = (command: Command, defaultCommonName: string): Command =>
  command
    .option("--common-name <name>", `the subject's common name; default: ${defaultCommonName}`)
    .addOption(repeatedOption("--organization <name>", "the subject's organization"))
    .addOption(repeatedOption("--dns <name>", "a DNS name"))
    .addOption(repeatedOption("--ip <address>", "an IP address"))
    .addOption(repeatedOption("--email <address>", "an e-mail address"))
    .addOption(repeatedOption("--uri <uri>", "a URI"))
    .addOption(
      repeatedOption(
        "--usage <usage>",
        "default: digital signature, and client auth or, with --dns or --ip, server auth",
      ),
    );

/** What the flags name. Addresses are in canonical form. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly subjectAltNames: SubjectAltNames;
  readonly usages: readonly string[];
}

/** Throws UsageError for a name or an address that is not valid. */
export function certificateNamesOf(flags: CertificateNameFlags, defaultCommonName: string): CertificateNames {
  const { commonName = defaultCommonName, organization = [], dns = [], ip = [], email = [], uri = [], usage } = flags;
  for (const name of dns) {
    const fault = dnsNameFault(name, { allowsWildcard: true });
    if (fault !== undefined) throw new UsageError(`--dns: ${JSON.stringify(name)}: ${fault}`);
  }
  for (const text of email) {
    if (mailboxOf(text) !== undefined) continue;
    throw new UsageError(`--email: ${JSON.stringify(text)} is not an e-mail address, such as ann@example.com`);
  }
  for (const text of uri) {
    const parsed = readUri(text);
    if (!parsed.isValid) throw new UsageError(`--uri: ${JSON.stringify(text)} is not a URI: ${parsed.reason}`);
  }
  const subjectAltNames = { dnsNames: dns, ipAddresses: ip.map(address), emailAddresses: email, uris: uri };
  return { commonName, organizations: organization, subjectAltNames, usages: usage ?? defaultUsages(subjectAltNames) };
}

/** The usages of a certificate with these names when no flag gives usages: servers have DNS names and addresses. */
export const defaultUsages = ({
  dnsNames,
  ipAddresses,
}: Pick<SubjectAltNames, "dnsNames" | "ipAddresses">): readonly string[] => [
  "digital signature",
  dnsNames.length + ipAddresses.length > 0 ? "server auth" : "client auth",
];

function address(text: string): string {
  const normal = normalIpAddress(text);
  if (normal !== undefined) return normal;
  throw new UsageError(`--ip: ${JSON.stringify(text)} is not an IP address; --dns is for DNS names`);
}
