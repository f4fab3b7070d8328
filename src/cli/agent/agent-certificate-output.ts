import { resolve } from "node:path";
import type { CertificateOutput, FolderPart } from "../../agent/files/certificate-output.ts";
import type { Fields } from "../../machinery/command-line/settings/fields.ts";
import type { FileOwnership } from "../../machinery/files/file-ownership.ts";
import { readStorePassword } from "./store-password.ts";
import type { SystemAccounts } from "./system-accounts.ts";

interface OutputSurroundings {
  /** The folder that relative file names start at. */
  readonly folder: string;
  readonly accounts: SystemAccounts;
  /** The alias of a store entry that names none. */
  readonly alias: string;
}

const folderParts: readonly FolderPart[] = ["key", "certificate", "chain", "fullChain"];

/** Reads an entry of `files` of a certificate in the agent's configuration file: its path, its format and its owner. */
export function parseCertificateOutput(
  fields: Fields,
  { folder, accounts, alias: defaultAlias }: OutputSurroundings,
): CertificateOutput {
  const format = fields.oneOf(["pem", "folder", "pkcs12", "jks"]);
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
        return { type: "folder", folder: path, names: parseFileNames(fields), ownership };
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

function parseFileNames(fields: Fields): Partial<Record<FolderPart, string>> {
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
  // All files of an output have the mode and owner of the key.
  if ((bits & 0o027) !== 0) fields.fault("mode", "must not let the group write, or others do anything: it is a key");
  return { mode: bits, ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) };
}
