import { resolve } from "node:path";
import type { Hook, ServiceCertificate } from "../agent/agent-settings.ts";
import type { CertificateOutput, FolderPart } from "../agent/files/certificate-output.ts";
import type { FileOwnership } from "../machinery/files/atomic-file.ts";
import type { Fields } from "../machinery/command-line/fields.ts";
import { dnsNameFault } from "../pki/dns-name.ts";
import { normalIpAddress, parseIpAddress } from "../pki/ip-address.ts";
import type { KeyType } from "../pki/keys.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../features/certificates/resources.ts";
import { certificateNameFault } from "./certificate-name.ts";
import { readStorePassword } from "./store-password.ts";
import type { SystemAccounts } from "./system-accounts.ts";

interface Surroundings {
  /** Where relative file names start. */
  readonly folder: string;
  readonly hookOf: (fields: Fields, name: string) => Hook | undefined;
  readonly accounts: SystemAccounts;
}

/** The node's own certificates have these names. */
const reservedNames = new Set(["client", "serving"]);
const keyTypes: readonly KeyType[] = ["ECDSA P-256", "ECDSA P-384", "RSA 2048", "RSA 3072", "RSA 4096", "Ed25519"];
const nameFields = ["commonName", "dnsNames", "ipAddresses", "emailAddresses", "uris"];
const defaultUsages = ["digital signature", "server auth"];
const folderParts: readonly FolderPart[] = ["key", "certificate", "chain", "fullChain"];
const formats = ["pem", "folder", "pkcs12", "jks"] as const;

/** Reads an entry of `certificates` in the agent's configuration file. */
export function parseServiceCertificate(fields: Fields, { hookOf, ...surroundings }: Surroundings): ServiceCertificate {
  const name = fields.text("name") ?? "";
  const nameFault = certificateNameFault(name);
  if (nameFault !== undefined) fields.fault("name", nameFault);
  if (reservedNames.has(name)) fields.fault("name", `${name} is the name of a certificate of the node itself`);
  const signerName = fields.text("signer") ?? "";
  if (signerName === "") fields.fault("signer", "is required, such as example.com/services");
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
  const keyType = fields.text("keyType") ?? "ECDSA P-256";
  const known = keyTypes.find((type) => type === keyType);
  if (known === undefined) fields.fault("keyType", `must be one of ${keyTypes.join(", ")}`);
  const percent = fields.integer("renewAtPercent", { from: 10, to: 95 });
  const outputs =
    fields.list("files", (value, path) => parseOutput(fields.at(value, path), { ...surroundings, alias: name })) ?? [];
  const certificate = {
    name,
    signerName,
    ...names,
    usages: fields.texts("usages") ?? defaultUsages,
    keyType: known ?? "ECDSA P-256",
    lifetimeSeconds: parseLifetime(fields),
    renewalShare: percent === undefined ? undefined : percent / 100,
    outputs,
    hook: hookOf(fields, "hook"),
  };
  fields.refuseOthers();
  return certificate;
}

/** The names that stand for the machine's own, and nothing else in their form. */
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

function parseOutput(
  fields: Fields,
  { folder, accounts, alias: defaultAlias }: Omit<Surroundings, "hookOf"> & { readonly alias: string },
): CertificateOutput {
  const formatsGiven = formats.filter((one) => fields.has(one));
  const [format = "pem"] = formatsGiven;
  if (formatsGiven.length !== 1) fields.fault("pem", `give one of ${formats.join(", ")}`);
  const given = fields.text(format) ?? "";
  if (given === "") fields.fault(format, "must name a file or folder");
  const path = resolve(folder, given);
  const ownership = parseOwnership(fields, accounts);
  const output = outputOf();
  fields.refuseOthers();
  return output;

  function outputOf(): CertificateOutput {
    switch (format) {
      case "pem":
        return { type: "pem", file: path, ownership };
      case "folder":
        return { type: "folder", folder: path, names: parseNames(fields), ownership };
      case "pkcs12":
      case "jks": {
        const alias = fields.text("alias") ?? defaultAlias;
        if (!/^[!-~]{1,64}$/.test(alias)) fields.fault("alias", "must be 1 to 64 visible ASCII characters");
        const password = fields.text("passwordFile") ?? "";
        if (password === "") fields.fault("passwordFile", "is required");
        const passwordFile = resolve(folder, password);
        return {
          type: format,
          file: path,
          alias,
          passwordFile,
          password: () => readStorePassword(passwordFile),
          ownership,
        };
      }
    }
  }
}

function parseNames(fields: Fields): Partial<Record<FolderPart, string>> {
  const names = Object.fromEntries(
    folderParts.flatMap((part) => {
      const name = fields.text(part, fileNameFault);
      return name === undefined ? [] : [[part, name]];
    }),
  );
  if (new Set(Object.values(names)).size < Object.keys(names).length) fields.fault("key", "must not share its name");
  return Object.keys(names).length === 0 ? { key: "tls.key", fullChain: "tls.crt" } : names;
}

const fileNameFault = (text: string): string | undefined =>
  /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$/.test(text) ? undefined : "must be a file name without folders";

function parseOwnership(fields: Fields, accounts: SystemAccounts): FileOwnership {
  const [owner, group, mode] = [fields.text("owner"), fields.text("group"), fields.text("mode")];
  const uid = owner === undefined ? undefined : accounts.userId(owner);
  const gid = group === undefined ? undefined : accounts.groupId(group);
  if (owner !== undefined && uid === undefined) fields.fault("owner", `there is no user ${JSON.stringify(owner)}`);
  if (group !== undefined && gid === undefined) fields.fault("group", `there is no group ${JSON.stringify(group)}`);
  if (mode !== undefined && !/^0?[0-7]{3}$/.test(mode)) fields.fault("mode", 'must be octal digits such as "0640"');
  const bits = Number.parseInt(mode ?? "0600", 8);
  // The files of an output are all treated as the key is.
  if ((bits & 0o027) !== 0) fields.fault("mode", "must not let the group write, or others do anything: it is a key");
  return { mode: bits, ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) };
}
