import { systemClock, timestamp } from "../../../machinery/api/clock.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { print, textTableOf } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import {
  subjectOf,
  prepareAuthority,
  switchAuthority,
  retireAuthority,
  abortRotation,
  countValidCertificates,
} from "./rotate-authority.ts";
import type { NamedAuthority } from "./rotate-authority.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { readKeyRecord } from "../../../machinery/keys/key-records.ts";
import type { KeyStore } from "../../../machinery/keys/key-records.ts";
import { authorityRecord } from "./authority-record.ts";
import { authorityFiles, authorityFileName, readAuthorityCertificate } from "./data-directory-authorities.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { CertificateSettings } from "../settings.ts";
import { parseSignerConfiguration } from "../signers/parse-signer-configuration.ts";
import { wellKnownSigners } from "../signers/well-known-signers.ts";
import { parseSettingsFile, readCertificates } from "../../../machinery/command-line/settings/settings-files.ts";

/** `signet ca list`. */
export async function runListAuthorities(
  keys: KeyStore,
  { settings, flags }: { readonly settings: CertificateSettings; readonly flags: OutputFlags },
): Promise<void> {
  const operators = operatorAuthorities(settings);
  const authorities = await shownAuthorities(keys, { operators, now: systemClock.now() });
  print(
    { authorities },
    {
      flags,
      text: () => textTableOf(authorities, { columns, flags }) + (operators.length === 0 ? "" : `\n${operatorsNote}`),
      names: authorities.map(({ fingerprint }) => `ca/${fingerprint}`),
    },
  );
}

interface ConfiguredAuthority extends NamedAuthority {
  readonly settings: CertificateSettings;
}

/** `signet ca prepare`. */
export async function runPrepareAuthority(keys: KeyStore, { name, settings }: ConfiguredAuthority): Promise<void> {
  refuseOperators(settings, name);
  const prepared = await prepareAuthority(keys, { name, clock: systemClock });
  console.log(`${name}: a new CA (${subjectOf(prepared)}) is trusted now, beside the one that signs`);
  console.log(`  when all clients trust it: signet ca switch ${name}; to undo it: signet ca abort ${name}`);
}

/** `signet ca switch`. */
export async function runSwitchAuthority(
  keys: KeyStore,
  { name, isForced, settings }: ConfiguredAuthority & { readonly isForced: boolean },
): Promise<void> {
  refuseOperators(settings, name);
  const signing = await switchAuthority(keys, { name, isForced, clock: systemClock });
  console.log(`${name}: the new CA (${subjectOf(signing)}) signs now; the old one is trusted as before`);
  console.log(`  when its certificates have ended: signet ca retire ${name}`);
}

/** `signet ca retire`. */
export async function runRetireAuthority(
  keys: KeyStore,
  options: NamedAuthority & { readonly isForced: boolean },
): Promise<void> {
  const retired = await retireAuthority(keys, { ...options, clock: systemClock });
  const old = retired.length === 1 ? "the old CA is" : `${retired.length} old CAs are`;
  console.log(`${options.name}: ${old} not trusted any more`);
}

/** `signet ca abort`. */
export async function runAbortAuthority(keys: KeyStore, { name }: NamedAuthority): Promise<void> {
  const what = await abortRotation(keys, { name, clock: systemClock });
  console.log(
    what === "prepared"
      ? `${name}: the new CA is not trusted any more; it has signed nothing`
      : `${name}: the old CA signs again; the new one is trusted until signet ca retire ${name}`,
  );
}

const operatorsNote =
  "Operator's: replace the certificate and the key in these files; the server reads them again (docs/signers.md)";

/** Throws CommandFailure for a CA whose files the settings name: no change of the store would change who signs. */
function refuseOperators(settings: CertificateSettings, name: string): void {
  const found = operatorAuthorities(settings).find((one) => one.name === name);
  if (found === undefined) return;
  throw commandRefused(
    `${name}: this CA is in the operator's files (${found.certificateFile}, of --${found.flag}), which signet ca does not ` +
      "change: append the new CA's certificate to the old file, wait until clients have the bundle, then replace certificate " +
      "and key; the server reads them again",
  );
}

/** A CA as `signet ca list` shows it. */
interface ShownAuthority extends NamedAuthority {
  /** Unused: a CA in the operator's files signs instead. */
  readonly state: "Signing" | "Prepared" | "Replaced" | "Unused" | "Operator's";
  readonly subject: string;
  readonly notAfter: string;
  /** The number of its recorded certificates that have not expired. */
  readonly validCertificates: number;
  readonly fingerprint: string;
  /** The file with the certificate of an operator's CA. Absent: Signet generates the CA. */
  readonly certificateFile?: string;
}

const states = { signing: "Signing", prepared: "Prepared", replaced: "Replaced" } as const;

const columns: readonly TextColumn<ShownAuthority>[] = [
  { header: "NAME", cell: ({ name }) => name },
  { header: "STATE", cell: ({ state }) => state },
  { header: "SUBJECT", cell: ({ subject }) => subject },
  { header: "NOT AFTER", cell: ({ notAfter }) => notAfter },
  { header: "CERTIFICATES", cell: ({ validCertificates }) => String(validCertificates) },
  { header: "FILE", isWide: true, cell: ({ certificateFile = "" }) => certificateFile },
  { header: "SHA-256", isWide: true, cell: ({ fingerprint }) => fingerprint },
];

async function shownAuthorities(
  keys: KeyStore,
  { operators, now }: { readonly operators: readonly OperatorAuthority[]; readonly now: number },
): Promise<ShownAuthority[]> {
  const { value } = await readKeyRecord(keys.store, authorityRecord);
  const isUnused = (name: string): boolean => operators.some((one) => one.name === name);
  const own = [...authorityFiles(keys.dataDirectory)].flatMap(([name, file]) => {
    const known = value?.authorities[name]?.generations ?? [
      { state: "signing" as const, certificate: readAuthorityCertificate(file) },
    ];
    return known.flatMap(({ state, certificate }) => {
      const [parsed] = parseCertificatesPem(certificate);
      const shown: ShownAuthority["state"] = state === "signing" && isUnused(name) ? "Unused" : states[state];
      return parsed === undefined ? [] : [{ name, state: shown, certificate: parsed }];
    });
  });
  const others = operators.map((one) => {
    const { name, certificateFile } = one;
    return { name, state: "Operator's" as const, certificate: certificateOf(one), certificateFile };
  });
  const counts = await countValidCertificates(keys, now);
  return [...own, ...others].map(({ certificate, ...shown }) => ({
    ...shown,
    subject: formatDistinguishedName(certificate.subject),
    notAfter: timestamp(certificate.notAfter),
    validCertificates: counts.get(formatDistinguishedName(certificate.subject)) ?? 0,
    fingerprint: fingerprintOf(certificate),
  }));
}

/** A CA in files that the settings name. Only the operator replaces it. */
interface OperatorAuthority {
  /** Its name in `signet ca list`: the name of the data directory's CA that it replaces, or the name of its signer. */
  readonly name: string;
  readonly certificateFile: string;
  /** The flag that names the files, or the flag of the configuration file that names them. */
  readonly flag: string;
}

/** The CAs in the operator's files. Throws UsageError for a `--signer-config` that can't be used. */
function operatorAuthorities(settings: CertificateSettings): readonly OperatorAuthority[] {
  const { authority, authorityOf, signerConfigurationFile } = settings;
  const ofFlags = wellKnownSigners.flatMap(({ shortName }): OperatorAuthority[] => {
    const files = authorityOf[shortName] ?? authority;
    if (files === undefined) return [];
    const { certificateFile, certificateFlag: flag } = files;
    return [{ name: authorityFileName(shortName), certificateFile, flag }];
  });
  return signerConfigurationFile === undefined ? ofFlags : [...ofFlags, ...ofConfiguration(signerConfigurationFile)];
}

function ofConfiguration(file: string): OperatorAuthority[] {
  const flag = "signer-config";
  const signers = parseSettingsFile({ flag, file }, (text) => parseSignerConfiguration(text, file));
  return signers.flatMap(({ name, certificateAuthority: from }) =>
    from.type === "files" ? [{ name, certificateFile: from.certificateFile, flag }] : [],
  );
}

/** The certificate of an operator's CA, without its chain. Throws UsageError for a file that can't be used. */
function certificateOf({ flag, certificateFile }: OperatorAuthority): Certificate {
  const [certificate] = readCertificates(flag, certificateFile);
  if (certificate === undefined) throw new Error("a file without certificates was read"); // readCertificates refuses it
  return certificate;
}
