import { timestamp } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { changeKeyRecord } from "../../../machinery/keys/key-records.ts";
import type { KeyStore } from "../../../machinery/keys/key-records.ts";
import {
  authorityRecord,
  firstGeneration,
  generationThat,
  sealedAuthorityName,
  withoutGeneration,
  withPrepared,
  withSigning,
} from "./authority-record.ts";
import type { AuthorityRecord, Generation, RotatedAuthority } from "./authority-record.ts";
import { authorityFiles, readAuthorityCertificate } from "./data-directory-authorities.ts";
import { createSuccessor } from "./authority-in-files.ts";
import { newGeneration } from "./rotatable-authority.ts";
import { loadCertificateAuthority } from "../../../pki/certificates/certificate-authority.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { encodePrivateKeyPem } from "../../../pki/keys/keys.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { signerNames } from "../signer-names.ts";
import { issuedCertificateResource } from "../resources.ts";
import { resourceRange } from "../../../machinery/registry/stored/storage-key.ts";
import { storedEntries } from "../../../machinery/storage/stored-entries.ts";
import { counted } from "../../../machinery/command-line/output/counted.ts";

export interface NamedAuthority {
  /** The name of the CA: `ca` for the CA of the server itself. */
  readonly name: string;
}

export const subjectOf = ({ certificate }: Generation): string =>
  parseCertificatesPem(certificate)
    .map(({ subject }) => formatDistinguishedName(subject))
    .join();

type Timed = NamedAuthority & { readonly clock: Clock };

/**
 * Makes a new CA, which is trusted from now on and signs after the switch. Rejects with CommandFailure when a CA is prepared already, and
 * with UnusableFile when the sealing key does not open the present CAs: processes with the right sealing key could not open the new CA.
 */
export async function prepareAuthority(keys: KeyStore, { name, clock }: Timed): Promise<Generation> {
  const { sealingKey } = keys;
  const changed = await changeAuthority({ keys, name }, (stored, all) => {
    for (const { generations } of all)
      for (const one of generations) sealingKey.unseal(one.sealedKey, sealedAuthorityName(one.fingerprint));
    const authority = stored ?? recordOfFiles(keys, { name, clock });
    if (generationThat(authority, "prepared") !== undefined) {
      throw commandRefused(`a new CA is prepared already: signet ca switch ${name}, or signet ca abort ${name}`);
    }
    const [signing] = parseCertificatesPem(knownGeneration(authority, "signing").certificate);
    if (signing === undefined) throw new Error(`the CA ${name} in the store has no certificate`);
    const made = createSuccessor(signing, clock);
    const prepared = newGeneration(made, { keyPem: encodePrivateKeyPem(made.privateKey), sealingKey });
    return withPrepared(authority, { prepared, now: clock.now() });
  });
  return knownGeneration(changed, "prepared");
}

/** The time after which every client that follows the bundles has the new CA. */
const overlapMilliseconds = 10 * 60_000;

/** Lets the prepared CA sign. Rejects with CommandFailure when no CA is prepared, or, unless forced, when it was prepared too recently. */
export async function switchAuthority(
  keys: KeyStore,
  { name, isForced, clock }: Timed & { readonly isForced: boolean },
): Promise<Generation> {
  const changed = await changeAuthority({ keys, name }, (authority) => {
    const prepared = authority && generationThat(authority, "prepared");
    if (authority === undefined || prepared === undefined)
      throw commandRefused(`no new CA is prepared: signet ca prepare ${name}`);
    const readyAt = Date.parse(prepared.since) + overlapMilliseconds;
    if (readyAt > clock.now() && !isForced) {
      throw commandRefused(
        `the new CA is trusted since ${prepared.since}: wait until ${timestamp(readyAt)}, so that every client that follows the ` +
          "bundles has it, or use --force",
      );
    }
    return withSigning(authority, { fingerprint: prepared.fingerprint, now: clock.now() });
  });
  return knownGeneration(changed, "signing");
}

/**
 * Ends the trust in the CAs that signed before. Rejects with CommandFailure when there are none, and, unless forced, while a certificate of
 * these CAs is valid. Resolves with their fingerprints.
 */
export async function retireAuthority(
  keys: KeyStore,
  { name, isForced, clock }: Timed & { readonly isForced: boolean },
): Promise<readonly string[]> {
  const counts = isForced ? new Map<string, number>() : await countValidCertificates(keys, clock.now());
  let retired: readonly string[] = [];
  await changeAuthority({ keys, name }, (stored) => {
    const replaced = stored?.generations.filter(({ state }) => state === "replaced") ?? [];
    if (stored === undefined || replaced.length === 0) {
      throw commandRefused(
        "no old CA is trusted: the one that signs is retired only after another one signs (signet ca prepare)",
      );
    }
    for (const generation of isForced ? [] : replaced) {
      const { since } = generation;
      const count = counts.get(subjectOf(generation)) ?? 0;
      if (count > 0) {
        throw commandRefused(
          `${counted(count, "certificate")} of the old CA can be used: signet ca list shows how many are left; wait until they are ` +
            "renewed, or refuse them from now on with --force",
        );
      }
      const readyAt = Date.parse(since) + overlapMilliseconds;
      if (readyAt > clock.now()) {
        throw commandRefused(
          `it signed until ${since}: wait until ${timestamp(readyAt)}, when every server shows a new certificate, or use --force`,
        );
      }
    }
    retired = replaced.map(({ fingerprint }) => fingerprint);
    return retired.reduce(withoutGeneration, stored);
  });
  return retired;
}

/**
 * Undoes the newest rotation: removes its prepared CA, or else lets the CA before its switch sign again. Resolves with which of the two
 * it did. Rejects with CommandFailure when neither is left to do. So a second time changes nothing: it would let the new CA sign again, or
 * undo the rotation before.
 */
export async function abortRotation(keys: KeyStore, { name, clock }: Timed): Promise<"prepared" | "switched"> {
  let what: "prepared" | "switched" = "prepared";
  await changeAuthority({ keys, name }, (authority) => {
    const prepared = authority && generationThat(authority, "prepared");
    // The last in order signed most recently, because an earlier rotation may have been aborted.
    const last = authority?.generations.findLast(({ state }) => state === "replaced");
    if (authority !== undefined && prepared !== undefined) {
      what = "prepared";
      return withoutGeneration(authority, prepared.fingerprint);
    }
    if (authority === undefined || last === undefined)
      throw commandRefused("no rotation is under way: nothing to undo");
    if (last.staysReplaced === true) {
      throw commandRefused(
        `the newest rotation was undone: nothing more to undo; another CA signs after signet ca prepare ${name}`,
      );
    }
    what = "switched";
    return withSigning(authority, { fingerprint: last.fingerprint, now: clock.now(), staysReplaced: true });
  });
  return what;
}

/** The generation with a state that the record must have. */
function knownGeneration(authority: RotatedAuthority, state: "prepared" | "signing"): Generation {
  const found = generationThat(authority, state);
  if (found === undefined) throw new Error(`none of the CA's generations in the store is ${state}`);
  return found;
}

/** Changes the record of one CA by compare-and-swap, and resolves with the new record. Rejects with CommandFailure for an unknown name. */
async function changeAuthority(
  { keys, name }: NamedAuthority & { readonly keys: KeyStore },
  change: (authority: RotatedAuthority | undefined, all: readonly RotatedAuthority[]) => RotatedAuthority,
): Promise<RotatedAuthority> {
  const all = authorityFiles(keys.dataDirectory);
  if (!all.has(name))
    throw commandRefused(`there is no CA ${JSON.stringify(name)}: name one of ${[...all.keys()].join(", ")}`);
  const { value: record } = await changeKeyRecord(
    { store: keys.store, record: authorityRecord },
    (stored): AuthorityRecord => {
      const known = stored?.authorities ?? {};
      const changed = change(known[name], Object.values(known));
      return { version: 1, authorities: { ...known, [name]: changed } };
    },
  );
  const authority = record.authorities[name];
  if (authority === undefined) throw new Error(`the record has no CA ${name}`);
  return authority;
}

/** The first record of a CA that was only in its files until now. */
function recordOfFiles({ dataDirectory, sealingKey }: KeyStore, { name, clock }: Timed): RotatedAuthority {
  const file = authorityFiles(dataDirectory).get(name) ?? "";
  const certificate = readAuthorityCertificate(file);
  const privateKey = readPrivateFile(`${file}.key`) ?? "";
  const authority = loadCertificateAuthority({ certificate, privateKey });
  const keyPem = encodePrivateKeyPem(authority.privateKey);
  return firstGeneration(newGeneration(authority, { keyPem, sealingKey }), clock.now());
}

const pageLength = 500;

/**
 * Counts the recorded certificates that have not expired, by the distinguished name of their CA. Serving certificates of the API server do
 * not count, because they are replaced as soon as another CA signs.
 */
export async function countValidCertificates(
  { store, names }: Pick<KeyStore, "store" | "names">,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const range = resourceRange(issuedCertificateResource(names));
  const records = storedEntries(store, { ...range, limit: pageLength });
  for await (const { value } of records) {
    const { signerName, issuer = "", notAfter } = parseRecord(value).spec;
    if (signerName === signerNames.apiserverServing(names)) continue;
    if (Date.parse(notAfter) > now) counts.set(issuer, (counts.get(issuer) ?? 0) + 1);
  }
  return counts;
}

function parseRecord(value: Buffer): IssuedCertificate {
  try {
    return JSON.parse(value.toString("utf8")) as IssuedCertificate; // the registry validated it
  } catch (cause) {
    const message =
      "the records of issued certificates can't be read here: use --force when you know that none is in use";
    throw commandRefused(message, { cause });
  }
}
