import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import { FollowedFiles, followMilliseconds } from "../machinery/files/followed/followed-files.ts";
import type { OwnedFolder } from "../machinery/files/folders/owned-folder.ts";
import { OutageReport } from "../machinery/logging/outage-report.ts";
import { FollowedKeyRecords } from "../machinery/keys/key-records.ts";
import type { KeyRecord } from "../machinery/keys/key-records.ts";
import { StorageQuota } from "../machinery/registry/storage-quota.ts";
import { SealingKey } from "../machinery/keys/sealing-key.ts";
import { Stores } from "../machinery/registry/stores.ts";
import { Compactor } from "./store/compactor.ts";
import { ChangeFeed } from "../machinery/storage/change-feed.ts";
import { periodically } from "../machinery/scheduling/periodically.ts";
import type { Store } from "../machinery/storage/store.ts";
import { keyRingRecord } from "../features/accounts/keys/key-ring.ts";
import { authorityRecord } from "../features/certificates/authorities/authority-record.ts";
import { sealedKeys } from "./store/sealed-keys.ts";
import { openApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import { connectRevocation } from "../features/revocation/feature.ts";
import { revokedIn } from "./administrator.ts";
import { dataDirectoryFiles } from "./data-directory/data-directory-files.ts";
import { openServerAuthorities } from "./server-authorities.ts";
import { openServerStore } from "./encryption/open-encryption.ts";
import { lockDataDirectory } from "./data-directory/lock-data-directory.ts";
import { isExemptFromQuota } from "./loopback-users.ts";
import { observeServer } from "./observation/observe-server.ts";
import type { ServerObservation } from "./observation/observe-server.ts";
import { storedResources } from "./served-kinds.ts";
import type { ServerConfig } from "./settings/server-config.ts";
import { openTlsCertificate } from "./tls/tls-certificate.ts";

interface OpenServerOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Replaces the data directory's store. */
  readonly store: Store | undefined;
  /** The data directory, when another process has locked it for this one. */
  readonly folder: OwnedFolder | undefined;
  /** The stack of everything that must be closed when the server stops. */
  readonly opening: AsyncDisposableStack;
}

export type OpenedServer = Awaited<ReturnType<typeof openServer>>;

/**
 * The stage "Open" of a start: opens the data directory, the store, the copies in memory, the CAs, and the files of policies and signers.
 * Rejects with UsageError for settings that can't be used.
 */
export async function openServer(config: ServerConfig, { log, clock, opening, ...given }: OpenServerOptions) {
  const { dataDirectory, names } = config;
  const usesEtcd = config.storage.type === "etcd";
  const { certificates: certificateSettings } = config.controllers;

  const folder = opening.adopt(given.folder ?? lockDataDirectory(dataDirectory), (owned) => owned.release());
  const keysBefore = dataDirectoryFiles(dataDirectory).keys;
  const followed = opening.use(new FollowedFiles({ log, pollMilliseconds: followMilliseconds }));
  const shared = { names, dataDirectory, clock, log, followed };
  const { store, healthChecks } = opening.adopt(
    await openServerStore(config, { log, followed, given: given.store }),
    (opened) => opened.close(),
  );
  const observation = observeServer({ names, log, clock, configuredSigners: () => authorities.configuredSigners() });
  const { compactor, quota, stores, records } = await openCopies(config, { store, log, clock, observation, opening });

  const sealingKey = SealingKey.open(dataDirectory, { makesKey: !holdsSealedKeys(records) });
  const keyStore = { store, records, sealingKey };
  const authorities = await openServerAuthorities(config, {
    ...shared,
    ...keyStore,
    stores,
    observer: observation.outsideKeys,
  });
  const policy = openApprovalPolicy(certificateSettings.approvalPolicyFile, followed);
  const revocation = connectRevocation(config.names, stores);
  const certificate = opening.adopt(
    await openTlsCertificate(config.listener, {
      ...shared,
      authority: authorities.own.server,
      isRevoked: revokedIn(revocation),
      revocation: certificateSettings.revocation,
    }),
    (opened) => opened.stop(),
  );
  return {
    /** Used by many parts. */
    shared,
    usesEtcd,
    folder,
    store,
    compactor,
    healthChecks,
    observation,
    stores,
    quota,
    keyStore,
    authorities,
    policy,
    revocation,
    certificate,
    /** The files of private keys that were made since this start began. */
    newKeys: () => dataDirectoryFiles(dataDirectory).keys.filter((key) => !keysBefore.includes(key)),
  };
}

interface CopiesOptions extends Pick<OpenServerOptions, "log" | "clock" | "opening"> {
  readonly store: Store;
  readonly observation: ServerObservation;
}

/** Loads copies of stored objects into memory. From then on, they follow the store. */
async function openCopies(config: ServerConfig, { store, log, clock, observation, opening }: CopiesOptions) {
  const { names, limits, storage } = config;
  const keptMilliseconds = storage.type === "etcd" ? storage.compactionMilliseconds : undefined;
  const compactor = new Compactor({ store, log, keptMilliseconds });
  const feed = opening.adopt(
    new ChangeFeed({ store, outage: feedOutage(log), onChanges: (changes) => compactor.count(changes) }),
    (opened) => opened.close(),
  );
  const { maximumNamespaceBytes: maximumBytes } = limits;
  const quota =
    maximumBytes === Infinity
      ? undefined
      : new StorageQuota({
          maximumBytes,
          isExempt: isExemptFromQuota(names),
          onExceeded: observation.onQuotaExceeded,
        });
  const stores = new Stores({
    names,
    definitions: storedResources(names),
    store,
    feed,
    clock,
    maximumObjectBytes: limits.maximumObjectBytes,
    onWritten: observation.onWritten,
    onRefused: observation.onRefused,
    quota,
  });
  const records = new FollowedKeyRecords(feed);
  // In one turn, so that they share one read of the store. A fresh copy then has the newest keys too.
  await Promise.all([stores.start(), records.start()]);
  if (storage.type !== "etcd") opening.adopt(followOtherPrograms(store), (following) => following.stop());
  return { compactor, quota, stores, records };
}

const feedOutage = (log: Logger): OutageReport =>
  new OutageReport({
    onFailure: (reason) =>
      log.error({ error: reason }, "the store does not tell what changes, will try again; reads wait or get a 503"),
    onRecovery: () => log.info("the store tells what changes again"),
  });

/** How soon a server without requests sees what a command has written to its store. */
const pollMilliseconds = 1_000;

/**
 * Lets watches see what other programs, such as `signet keys rotate`, write to the store of the data directory. These programs can't notify
 * the server. etcd notifies by itself.
 */
const followOtherPrograms = (store: Store): { stop(): void } =>
  periodically({
    milliseconds: pollMilliseconds,
    task: () => store.catchUp(),
    // The store is closing or fails, and requests report that.
    onFailure: () => {},
  });

/** Whether the store has keys that only its sealing key opens. */
function holdsSealedKeys(records: FollowedKeyRecords): boolean {
  const valueOf = <T>({ name, parse }: KeyRecord<T>): T | undefined => {
    const stored = records.recordOf(name)?.value;
    return stored === undefined ? undefined : parse(stored);
  };
  return sealedKeys({ ring: valueOf(keyRingRecord), authorities: valueOf(authorityRecord) }).length > 0;
}
