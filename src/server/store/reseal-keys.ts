import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { emptyRing, keyRingRecord, sealedTokenKeyName, withoutKey } from "../../features/accounts/keys/key-ring.ts";
import type { KeyRing } from "../../features/accounts/keys/key-ring.ts";
import {
  authorityRecord,
  sealedAuthorityName,
  withoutLost,
} from "../../features/certificates/authorities/authority-record.ts";
import type { AuthorityRecord, Generation } from "../../features/certificates/authorities/authority-record.ts";
import { authorityFiles } from "../../features/certificates/authorities/data-directory-authorities.ts";
import { subjectOf } from "../../features/certificates/authorities/rotate-authority.ts";
import { systemClock, sleep } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { commandRefused } from "../../machinery/command-line/command-failure.ts";
import { interruptible } from "../../machinery/command-line/interruptible.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { changeKeyRecord } from "../../machinery/keys/key-records.ts";
import { SealingKey, sealingKeyFile } from "../../machinery/keys/sealing-key.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { loadCertificateAuthority } from "../../pki/certificates/certificate-authority.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { lockDataDirectory } from "../data-directory/lock-data-directory.ts";
import { namesOfStore } from "./open-store.ts";
import type { StoreLocation } from "./open-store.ts";
import { refuseRunningServer } from "./refuse-running-server.ts";
import { readSharedSealingKeyId, recordSealingKey, refuseOtherDataDirectory } from "./replica-identity.ts";
import { readKeyHolders, sealedKeys } from "./sealed-keys.ts";
import { withOpenStore } from "./with-server-store.ts";
import { checkDataDirectory } from "../data-directory/check-data-directory.ts";

/** `signet keys reseal`. Calls `confirm` before it writes anything; a rejection ends it without a change. */
export async function runResealKeys(location: StoreLocation, confirm: () => Promise<void>): Promise<void> {
  const { dataDirectory, storage } = location;
  checkDataDirectory(dataDirectory);
  const isShared = storage.type !== "own";
  // Before the lock, whose files would otherwise stay in an unrelated folder.
  if (isShared) await withOpenStore(location, ({ store }) => refuseOtherDataDirectory(store, dataDirectory));
  else namesOfStore(dataDirectory);
  const folder = lockDataDirectory(dataDirectory);
  try {
    await withOpenStore(location, async ({ store }) => {
      if (isShared) {
        await interruptible("nothing was changed", (signal) =>
          refuseRunningServer(store, { sleep, signal, onWait: console.error }),
        );
      }
      for (const line of await resealKeys({ store, dataDirectory, confirm, clock: systemClock })) console.log(line);
    });
  } finally {
    folder.release();
  }
}

interface Reseal {
  readonly store: Store;
  readonly dataDirectory: string;
  /** Called when it is known that keys are lost, before anything is written. */
  readonly confirm: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Replaces the lost sealing key of a server. CAs get their keys from their files; keys that are in no file are given up. No server may run
 * at the same time. After a kill, run it again. Resolves with texts that say what was done. Rejects with CommandFailure, before anything is
 * written, when nothing is lost, and when the key of a CA that signs is in no file.
 */
export async function resealKeys({ store, dataDirectory, confirm, clock }: Reseal): Promise<readonly string[]> {
  const { ring, authorities } = await readKeyHolders(store);
  const sharedId = await readSharedSealingKeyId(store);
  const file = join(dataDirectory, sealingKeyFile);
  const isMissing = !existsSync(file);
  if (isMissing && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw commandRefused(
      `${file} is a link to a file that is not there: bring that back, or remove the link if it is lost`,
    );
  const known = isMissing ? undefined : SealingKey.open(dataDirectory);
  const sealed = sealedKeys({ ring, authorities });
  const lost = new Set(sealed.filter((one) => !opens(known, one)).map(({ name }) => name));
  if (lost.size === 0 && (sharedId === undefined || sharedId === known?.id))
    throw commandRefused("no private key in the store is lost: there is nothing to do");
  const found = keysInFiles({ authorities, lost, dataDirectory });
  await confirm();
  const sealingKey = known ?? SealingKey.open(dataDirectory);
  return [
    `${file}: ${known === undefined ? "made a new key" : "seals what is left"}`,
    ...(await resealAuthorities({ store, found, sealingKey, now: clock.now() })),
    ...(await giveUpTokenKeys({ store, ring, lost })),
    ...(await shareSealingKey({ store, sealingKey, sharedId })),
  ];
}

function opens(key: SealingKey | undefined, { name, sealed }: ReturnType<typeof sealedKeys>[number]): boolean {
  try {
    return key?.unseal(sealed, name) !== undefined;
  } catch (error) {
    if (error instanceof UnusableFile) return false;
    throw error;
  }
}

/** A CA in the record, some of whose generations have lost their keys. */
interface Found {
  readonly lost: readonly Generation[];
  /** The lost generation whose key is in the CA's file; `keyPem` is that key. */
  readonly kept: Generation | undefined;
  readonly keyPem: string;
}

/** Finds the keys in the CAs' files. Throws CommandFailure for a CA that could not sign any more. */
function keysInFiles({
  authorities,
  lost: names,
  dataDirectory,
}: {
  readonly authorities: AuthorityRecord | undefined;
  readonly lost: ReadonlySet<string>;
  readonly dataDirectory: string;
}): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>();
  for (const [name, { generations }] of Object.entries(authorities?.authorities ?? {})) {
    const lost = generations.filter(({ fingerprint }) => names.has(sealedAuthorityName(fingerprint)));
    if (lost.length === 0) continue;
    const file = `${authorityFiles(dataDirectory).get(name) ?? join(dataDirectory, name)}.key`;
    const keyPem = readPrivateFile(file) ?? "";
    const kept = lost.find(({ certificate }) => isKeyOf(keyPem, certificate));
    if (kept === undefined && lost.some(({ state }) => state === "signing")) {
      throw commandRefused(
        `${file} is not the key of the CA ${name} that signs: copy it from a backup or another replica; without one, begin with an ` +
          "empty data directory",
      );
    }
    found.set(name, { lost, kept, keyPem });
  }
  return found;
}

const isKeyOf = (privateKey: string, certificate: string): boolean =>
  !(orPkiError(() => loadCertificateAuthority({ certificate, privateKey })) instanceof PkiError);

async function resealAuthorities({
  store,
  found,
  sealingKey,
  now,
}: {
  readonly store: Store;
  readonly found: ReadonlyMap<string, Found>;
  readonly sealingKey: SealingKey;
  readonly now: number;
}): Promise<string[]> {
  if (found.size === 0) return [];
  await changeKeyRecord({ store, record: authorityRecord }, (stored): AuthorityRecord => {
    const authorities = Object.entries(stored?.authorities ?? {}).map(([name, authority]) => {
      const { lost, kept, keyPem } = found.get(name) ?? { lost: [], kept: undefined, keyPem: "" };
      const sealed = kept && { ...kept, sealedKey: sealingKey.seal(keyPem, sealedAuthorityName(kept.fingerprint)) };
      return [name, withoutLost(authority, { lost, kept: sealed, now })] as const;
    });
    return { version: 1, authorities: Object.fromEntries(authorities) };
  });
  return [...found].flatMap(([name, { lost, kept }]) => [
    ...(kept === undefined ? [] : [`${name}: sealed the key of ${subjectOf(kept)}, which signs, from its file`]),
    ...lost
      .filter((one) => one !== kept)
      .map((one) => `${name}: gave up ${subjectOf(one)}: it is not trusted any more, and its certificates are refused`),
  ]);
}

async function giveUpTokenKeys({
  store,
  ring,
  lost,
}: {
  readonly store: Store;
  readonly ring: KeyRing | undefined;
  readonly lost: ReadonlySet<string>;
}): Promise<string[]> {
  const gone = (ring?.keys ?? []).map(({ kid }) => kid).filter((kid) => lost.has(sealedTokenKeyName(kid)));
  if (gone.length === 0) return [];
  await changeKeyRecord({ store, record: keyRingRecord }, (stored) => gone.reduce(withoutKey, stored ?? emptyRing));
  return gone.map((kid) => `gave up the token key ${kid}: its tokens are refused`);
}

async function shareSealingKey({
  store,
  sealingKey,
  sharedId,
}: {
  readonly store: Store;
  readonly sealingKey: SealingKey;
  readonly sharedId: string | undefined;
}): Promise<string[]> {
  if (sharedId === undefined) return [];
  await recordSealingKey(store, sealingKey);
  return [`  copy ${sealingKeyFile} into the data directories of all other replicas before they start`];
}
