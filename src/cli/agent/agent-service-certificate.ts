import type { Hook, ServiceCertificate } from "../../agent/agent-settings.ts";
import type { Fields } from "../../machinery/command-line/settings/fields.ts";
import { dnsNameFault } from "../../pki/names/dns-name.ts";
import { normalIpAddress, parseIpAddress } from "../../pki/names/ip-address.ts";
import { keyTypes } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../../features/certificates/resources.ts";
import { parseCertificateOutput } from "./agent-certificate-output.ts";
import { certificateNameFault } from "../certificate-name.ts";
import type { SystemAccounts } from "./system-accounts.ts";

interface Surroundings {
  /** The folder that relative file names start at. */
  readonly folder: string;
  readonly hookOf: (fields: Fields, name: string) => Hook | undefined;
  readonly accounts: SystemAccounts;
}

/** The node's own certificates have these names. */
const reservedNames = new Set(["client", "serving"]);
const defaultKeyType = "ECDSA P-256";
const nameFields = ["commonName", "dnsNames", "ipAddresses", "emailAddresses", "uris"];
const defaultUsages = ["digital signature", "server auth"];

/** Reads an entry of `certificates` in the agent's configuration file. */
export function parseServiceCertificate(fields: Fields, { hookOf, ...surroundings }: Surroundings): ServiceCertificate {
  const name = fields.text("name") ?? "";
  const nameFault = certificateNameFault(name);
  if (nameFault !== undefined) fields.fault("name", nameFault);
  if (reservedNames.has(name)) fields.fault("name", `${name} is the name of a certificate of the node itself`);
  const signerName = fields.text("signer") ?? "";
  if (signerName === "") fields.fault("signer", "is required, such as example.com/services");
  const names = parseNames(fields);
  const keyType = parseKeyType(fields);
  const percent = fields.integer("renewAtPercent", { from: 10, to: 95 });
  const outputs =
    fields.list("files", (value, path) =>
      parseCertificateOutput(fields.at(value, path), { ...surroundings, alias: name }),
    ) ?? [];
  const certificate = {
    name,
    signerName,
    ...names,
    usages: fields.texts("usages") ?? defaultUsages,
    keyType,
    lifetimeSeconds: parseLifetime(fields),
    renewalShare: percent === undefined ? undefined : percent / 100,
    outputs,
    hook: hookOf(fields, "hook"),
  };
  fields.refuseOthers();
  return certificate;
}

type CertificateNames = Pick<
  ServiceCertificate,
  "commonName" | "organizations" | "dnsNames" | "ipAddresses" | "emailAddresses" | "uris"
>;

/** The names that the certificate is for. Adds a fault when there are none. */
function parseNames(fields: Fields): CertificateNames {
  const names = {
    commonName: fields.text("commonName") ?? "",
    organizations: fields.texts("organizations", templateFault) ?? [],
    dnsNames: fields.texts("dnsNames", dnsFault) ?? [],
    ipAddresses: (fields.texts("ipAddresses", addressFault) ?? []).map((text) => normalIpAddress(text) ?? text),
    emailAddresses: fields.texts("emailAddresses", templateFault) ?? [],
    uris: fields.texts("uris", templateFault) ?? [],
  };
  const commonNameFault = templateFault(names.commonName);
  if (commonNameFault !== undefined) fields.fault("commonName", commonNameFault);
  if (!nameFields.some((field) => fields.has(field))) {
    fields.fault("dnsNames", "must name something, here or in ipAddresses, emailAddresses, uris or commonName");
  }
  return names;
}

function parseKeyType(fields: Fields): KeyType {
  const given = fields.text("keyType") ?? defaultKeyType;
  const known = keyTypes.find((type) => type === given);
  if (known === undefined) fields.fault("keyType", `must be one of ${keyTypes.join(", ")}`);
  return known ?? defaultKeyType;
}

/** Finds a placeholder other than `${node}`, which stands for the Node's name. */
function templateFault(text: string): string | undefined {
  const unknown = /\$\{(?!node\})[^}]*\}?/.exec(text)?.[0];
  return unknown === undefined ? undefined : `${unknown} is not known here: there is \${node}`;
}

function dnsFault(text: string): string | undefined {
  return templateFault(text) ?? dnsNameFault(text.replaceAll("${node}", "node"), { allowsWildcard: true });
}

const addressFault = (text: string): string | undefined =>
  text === "${address}" || parseIpAddress(text) !== undefined
    ? undefined
    : "must be an IP address, or ${address} for those of the machine";

function parseLifetime(fields: Fields): number | undefined {
  const text = fields.text("lifetime");
  if (text === undefined) return undefined;
  const seconds = lifetimeSecondsOf(text);
  if (seconds === undefined) fields.fault("lifetime", lifetimeFault);
  return seconds;
}
