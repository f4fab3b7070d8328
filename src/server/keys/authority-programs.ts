import { readFileSync } from "node:fs";
import { systemClock, timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { CommandFailure } from "../../machinery/command-line/command-failure.ts";
import { print, textTableOf } from "../../machinery/command-line/output.ts";
import type { OutputFlags } from "../../machinery/command-line/output.ts";
import type { TextColumn } from "../../machinery/command-line/text-table.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import { changeKeyRecord, readKeyRecord } from "../../machinery/keys/key-records.ts";
import {
  authorityRecord,
  firstGeneration,
  generationThat,
  withoutGeneration,
  withPrepared,
  withSigning,
} from "../../features/certificates/authorities/authority-record.ts";
import type {
  AuthorityRecord,
  Generation,
  RotatedAuthority,
} from "../../features/certificates/authorities/authority-record.ts";
import { authorityFiles } from "../../features/certificates/authorities/cluster-authorities.ts";
import { createSuccessor } from "../../features/certificates/authorities/cluster-authority.ts";
import { newGeneration } from "../../features/certificates/authorities/followed-authority.ts";
import { loadCertificateAuthority } from "../../pki/certificate-authority.ts";
import { fingerprintOf } from "../../pki/certificate.ts";
import { formatDistinguishedName } from "../../pki/distinguished-name.ts";
import { encodePrivateKeyPem } from "../../pki/keys.ts";
import { parseCertificatesPem } from "../../pki/trust-anchors.ts";
import type { ServerConfig } from "../server-config.ts";
import { countValidCertificates } from "./certificates-of-authority.ts";
import { certificateOf, operatorAuthorities } from "./operator-authorities.ts";
import type { OperatorAuthority } from "./operator-authorities.ts";
import { withKeyStore } from "./open-key-store.ts";
import type { KeyStore } from "./open-key-store.ts";

interface Named {
  /** The name of its files: `ca` for the CA of the server itself. */
  readonly name: string;
}

/** `signet ca list`. */
export const runListAuthorities = (config: ServerConfig, flags: OutputFlags): Promise<void> =>
  withKeyStore(config, async (keys) => {
    const operators = operatorAuthorities(config.controllers.certificates);
    const authorities = await shownAuthorities(keys, { operators, now: systemClock.now() });
    print({ authorities }, flags, {
      text: () => textTableOf(authorities, columns, flags) + (operators.length === 0 ? "" : `\n${operatorsNote}`),
      names: authorities.map(({ fingerprint }) => `ca/${fingerprint}`),
    });
  });

/** `signet ca prepare`. */
export const runPrepareAuthority = (config: ServerConfig, { name }: Named): Promise<void> =>
  withKeyStore(config, async (keys) => {
    refuseOperators(config, name);
    const prepared = await prepareAuthority(keys, { name, clock: systemClock });
    console.log(`${name}: a new CA (${subjectOf(prepared)}) is trusted now, beside the one that signs`);
    console.log(`  when all clients trust it: signet ca switch ${name}; to take it back: signet ca abort ${name}`);
  });

/** `signet ca switch`. */
export const runSwitchAuthority = (
  config: ServerConfig,
  options: Named & { readonly isForced: boolean },
): Promise<void> =>
  withKeyStore(config, async (keys) => {
    refuseOperators(config, options.name);
    const signing = await switchAuthority(keys, { ...options, clock: systemClock });
    console.log(`${options.name}: the new CA (${subjectOf(signing)}) signs now; the old one is trusted as before`);
    console.log(`  when its certificates have ended: signet ca retire ${options.name}`);
  });

/** `signet ca retire`. */
export const runRetireAuthority = (
  config: ServerConfig,
  options: Named & { readonly isForced: boolean },
): Promise<void> =>
  withKeyStore(config, async (keys) => {
    const retired = await retireAuthority(keys, { ...options, clock: systemClock });
    console.log(
      `${options.name}: ${retired.length === 1 ? "the old CA is" : `${retired.length} old CAs are`} not trusted any more`,
    );
  });

/** `signet ca abort`. */
export const runAbortAuthority = (config: ServerConfig, { name }: Named): Promise<void> =>
  withKeyStore(config, async (keys) => {
    const what = await abortRotation(keys, { name, clock: systemClock });
    console.log(
      what === "prepared"
        ? `${name}: the new CA is not trusted any more; it has signed nothing`
        : `${name}: the old CA signs again; the new one is trusted until signet ca retire ${name}`,
    );
  });

const operatorsNote =
  "Operator's: replace the certificate and the key in these files; the server reads them again (docs/certificates.md)";

/** Rejects with CommandFailure for a CA whose files the settings name: nothing that is written here would change who signs. */
function refuseOperators({ controllers }: ServerConfig, name: string): void {
  const found = operatorAuthorities(controllers.certificates).find((one) => one.name === name);
  if (found === undefined) return;
  throw refused(
    `${name}: this CA is in the operator's files (${found.certificateFile}, of --${found.flag}), which signet ca does not ` +
      "change: append the new CA's certificate to the old file, wait until clients have the bundle, then replace certificate " +
      "and key; the server reads them again",
  );
}

const subjectOf = ({ certificate }: Generation): string =>
  parseCertificatesPem(certificate)
    .map(({ subject }) => formatDistinguishedName(subject))
    .join();

/** A CA as the command shows it. */
interface ShownAuthority extends Named {
  /** Unused: operator's files sign in its place. */
  readonly state: "Signing" | "Prepared" | "Replaced" | "Unused" | "Operator's";
  readonly subject: string;
  readonly notAfter: string;
  /** How many of its certificates are on record and have not ended. */
  readonly validCertificates: number;
  readonly fingerprint: string;
  /** Of an operator's CA: the file with its certificate. */
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
  keys: Keys,
  { operators, now }: { readonly operators: readonly OperatorAuthority[]; readonly now: number },
): Promise<ShownAuthority[]> {
  const { value } = await readKeyRecord(keys.store, authorityRecord);
  const isUnused = (name: string): boolean => operators.some((one) => one.name === name);
  const own = [...authorityFiles(keys.dataDirectory)].flatMap(([name, file]) => {
    const known = value?.authorities[name]?.generations ?? [
      { state: "signing" as const, certificate: readFileSync(`${file}.crt`, "utf8") },
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

type Keys = Pick<KeyStore, "store" | "sealingKey" | "dataDirectory" | "names">;
type Timed = Named & { readonly clock: Clock };

/** Makes a new CA, which is trusted from now on and signs after the switch. Rejects with CommandFailure when there is one. */
export async function prepareAuthority(keys: Keys, { name, clock }: Timed): Promise<Generation> {
  const { sealingKey } = keys;
  return changeAuthority(keys, name, (stored) => {
    const authority = stored ?? authorityOfFiles(keys, { name, clock });
    if (generationThat(authority, "prepared") !== undefined) {
      throw refused(`a new CA is prepared already: signet ca switch ${name}, or signet ca abort ${name}`);
    }
    const [signing] = parseCertificatesPem(generationThat(authority, "signing")?.certificate ?? "");
    if (signing === undefined) throw new Error(`none of the CAs ${name} in the store signs`);
    const made = createSuccessor(signing, clock);
    const next = newGeneration(made, { keyPem: encodePrivateKeyPem(made.privateKey), sealingKey });
    return { authority: withPrepared(authority, next, clock.now()), fingerprint: next.fingerprint };
  });
}

/** Everybody who follows the bundles has the new CA after this time. */
const overlapMilliseconds = 10 * 60_000;

/** Lets the prepared CA sign. Rejects with CommandFailure when there is none, or, unless forced, when it is new. */
export function switchAuthority(
  keys: Keys,
  { name, isForced, clock }: Timed & { readonly isForced: boolean },
): Promise<Generation> {
  return changeAuthority(keys, name, (authority) => {
    const prepared = authority && generationThat(authority, "prepared");
    if (authority === undefined || prepared === undefined)
      throw refused(`no new CA is prepared: signet ca prepare ${name}`);
    const readyAt = Date.parse(prepared.since) + overlapMilliseconds;
    if (readyAt > clock.now() && !isForced) {
      throw refused(
        `the new CA is trusted since ${prepared.since}: wait until ${timestamp(readyAt)}, so that every client that follows the ` +
          "bundles has it, or use --force",
      );
    }
    return { authority: withSigning(authority, prepared.fingerprint, clock.now()), fingerprint: prepared.fingerprint };
  });
}

/**
 * Ends the trust in the CAs that signed before. Rejects with CommandFailure when there is none, and, unless forced, while
 * a certificate of theirs is valid. Resolves with their fingerprints.
 */
export async function retireAuthority(
  keys: Keys,
  { name, isForced, clock }: Timed & { readonly isForced: boolean },
): Promise<readonly string[]> {
  const replacedOf = (authority: RotatedAuthority | undefined): readonly Generation[] =>
    authority?.generations.filter(({ state }) => state === "replaced") ?? [];
  const counts = isForced ? new Map<string, number>() : await countValidCertificates(keys, clock.now());
  let retired: readonly string[] = [];
  await changeAuthority(keys, name, (stored) => {
    const replaced = replacedOf(stored);
    if (stored === undefined || replaced.length === 0) {
      throw refused(
        "no old CA is trusted: the one that signs is retired only after another one signs (signet ca prepare)",
      );
    }
    for (const generation of isForced ? [] : replaced) {
      const { since } = generation;
      const count = counts.get(subjectOf(generation)) ?? 0;
      if (count > 0) {
        throw refused(
          `${count} certificates of the old CA are valid: signet ca list shows how many are left; wait until they are ` +
            "renewed, or refuse them from now on with --force",
        );
      }
      const readyAt = Date.parse(since) + overlapMilliseconds;
      if (readyAt > clock.now()) {
        throw refused(
          `it signed until ${since}: wait until ${timestamp(readyAt)}, when every server shows a new certificate, or use --force`,
        );
      }
    }
    retired = replaced.map(({ fingerprint }) => fingerprint);
    const authority = retired.reduce(withoutGeneration, stored);
    return { authority, fingerprint: generationThat(authority, "signing")?.fingerprint ?? "" };
  });
  return retired;
}

/** Takes a prepared CA back, or lets the CA before the last switch sign again. Says which. */
export async function abortRotation(keys: Keys, { name, clock }: Timed): Promise<"prepared" | "switched"> {
  let what: "prepared" | "switched" = "prepared";
  await changeAuthority(keys, name, (authority) => {
    const prepared = authority && generationThat(authority, "prepared");
    const signing = authority && generationThat(authority, "signing");
    const last = authority?.generations.findLast(({ state }) => state === "replaced");
    if (authority !== undefined && prepared !== undefined) {
      what = "prepared";
      return { authority: withoutGeneration(authority, prepared.fingerprint), fingerprint: signing?.fingerprint ?? "" };
    }
    if (authority === undefined || last === undefined) throw refused("no rotation is under way: nothing to take back");
    what = "switched";
    return { authority: withSigning(authority, last.fingerprint, clock.now()), fingerprint: last.fingerprint };
  });
  return what;
}

interface Changed {
  readonly authority: RotatedAuthority;
  /** Of the generation that the caller wants to know. */
  readonly fingerprint: string;
}

/** Changes the record of one CA by compare-and-swap. Rejects with CommandFailure for a name that there is not. */
async function changeAuthority(
  keys: Keys,
  name: string,
  change: (authority: RotatedAuthority | undefined) => Changed,
): Promise<Generation> {
  const all = authorityFiles(keys.dataDirectory);
  if (!all.has(name))
    throw refused(`there is no CA ${JSON.stringify(name)}: name one of ${[...all.keys()].join(", ")}`);
  let fingerprint = "";
  const { authorities } = await changeKeyRecord(keys.store, authorityRecord, (stored): AuthorityRecord => {
    const known = stored?.authorities ?? {};
    const changed = change(known[name]);
    ({ fingerprint } = changed);
    return { version: 1, authorities: { ...known, [name]: changed.authority } };
  });
  const generation = authorities[name]?.generations.find((one) => one.fingerprint === fingerprint);
  if (generation === undefined) throw new Error(`the record has no CA ${fingerprint}`);
  return generation;
}

function authorityOfFiles({ dataDirectory, sealingKey }: Keys, { name, clock }: Timed): RotatedAuthority {
  const file = authorityFiles(dataDirectory).get(name) ?? "";
  const certificate = readFileSync(`${file}.crt`, "utf8");
  const privateKey = readPrivateFile(`${file}.key`) ?? "";
  const authority = loadCertificateAuthority({ certificate, privateKey });
  const keyPem = encodePrivateKeyPem(authority.privateKey);
  return firstGeneration(newGeneration(authority, { keyPem, sealingKey }), clock.now());
}

const refused = (message: string): CommandFailure => new CommandFailure(message, { exit: "refused" });
