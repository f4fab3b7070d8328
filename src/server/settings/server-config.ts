import { availableParallelism } from "node:os";
import { accessFlags, accessSettings } from "../../features/access/settings.ts";
import type { AccessSettings } from "../../features/access/settings.ts";
import { accountFlags, accountSettings } from "../../features/accounts/settings.ts";
import type { AccountSettings } from "../../features/accounts/settings.ts";
import { authorizationFlags, authorizationSettings } from "../../features/authorization/settings.ts";
import type { AuthorizationSettings } from "../../features/authorization/settings.ts";
import { federationFlags, federationSettings } from "../../features/federation/settings.ts";
import type { FederationSettings } from "../../features/federation/settings.ts";
import { namesFor } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { settingsOf, UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flags, FlagValues, GivenFlags } from "../../machinery/command-line/settings/flag.ts";
import { logFlags, logSettings } from "../../machinery/command-line/settings/log-flags.ts";
import type { LogSettings } from "../../machinery/files/lines/process-log.ts";
import { auditFlags, auditSettings } from "../audit/audit-settings.ts";
import type { AuditSettings } from "../audit/audit-settings.ts";
import { controllerFlags, controllerSettings } from "./controller-settings.ts";
import type { ControllerSettings } from "./controller-settings.ts";
import { encryptionFlags, encryptionSettings } from "./encryption-settings.ts";
import type { EncryptionSettings } from "./encryption-settings.ts";
import { listenerFlags, listenerSettings } from "./listener-settings.ts";
import type { ListenerSettings } from "./listener-settings.ts";
import { checkImpersonationOnly } from "../loopback-users.ts";
import { storageFlags, storageSettings } from "./storage-settings.ts";
import type { StorageSettings } from "./storage-settings.ts";

/**
 * The settings of `signet serve`. They have the names of kube-apiserver and kube-controller-manager if those have the
 * same flag.
 */
export const serveFlags = {
  ...storageFlags,
  ...encryptionFlags,
  ...listenerFlags,
  profile: {
    type: "string",
    default: "platform",
    choices: ["platform", "kubernetes"],
    help: "The names of reserved namespaces, signers and claims: platform.io's, or only upstream's everywhere with kubernetes. Cannot change for a data directory.",
  },
  "upstream-names": {
    type: "boolean",
    default: true,
    help: "Also serve the API under upstream's group names (k8s.io), which kubectl and other clients know. Only for --profile platform.",
  },
  ...accessFlags,
  ...authorizationFlags,
  ...accountFlags,
  ...federationFlags,
  "max-requests-inflight": {
    type: "integer",
    default: 400,
    minimum: 1,
    maximum: 100_000,
    help: "Maximum concurrent read requests. More wait in one queue for each user.",
  },
  "max-mutating-requests-inflight": {
    type: "integer",
    default: 200,
    minimum: 1,
    maximum: 100_000,
    help: "Maximum concurrent write requests. More wait in one queue for each user.",
  },
  "max-watches": {
    type: "integer",
    default: 100_000,
    minimum: 1,
    maximum: 10_000_000,
    help: "Maximum open watches, each of which takes about 12 KiB. One with long selectors counts as several. One user has at most a quarter of those that others leave. More are refused (429).",
  },
  "max-request-bytes": {
    type: "integer",
    default: 1_572_864,
    minimum: 65_536,
    maximum: 3_145_728,
    help: "The maximum size of a stored object in bytes. Larger ones are refused (413). The same as etcd's flag of this name.",
  },
  "max-namespace-bytes": {
    type: "integer",
    default: 1_073_741_824,
    minimum: 0,
    maximum: 1_099_511_627_776,
    help: "The maximum size in bytes of all stored objects of one namespace. Writes that would exceed it are refused (403). RoleBindings may take a 32nd of it, Events a quarter, Pods half. The certificate requests of one user (a quarter) and the records of their certificates have the same limit. 0: no limit.",
  },
  workers: {
    type: "string",
    default: "1",
    help: "The number of processes that share the port, or auto for one for each core.",
  },
  ...controllerFlags,
  ...auditFlags,
  ...logFlags,
} as const satisfies Flags;

/** The headings in the help, and the flags below each. Flags that are not here are about the server as a whole. */
export const serveFlagGroups: Readonly<Record<string, Flags>> = {
  "Storage:": { ...storageFlags, ...encryptionFlags },
  "Listener:": listenerFlags,
  "Authentication:": accessFlags,
  "Authorization:": authorizationFlags,
  "Service accounts and tokens:": accountFlags,
  "Users of other issuers:": federationFlags,
  "Controllers and certificates:": controllerFlags,
  "Audit:": auditFlags,
  "Log:": logFlags,
};

/** The parsed settings of a server. Only `parseServerConfig` knows the flags. */
export interface ServerConfig {
  /** Contains the CA, keys and admin.kubeconfig, and the objects unless they are in etcd. */
  readonly dataDirectory: string;
  readonly storage: StorageSettings;
  readonly encryption: EncryptionSettings;
  readonly listener: ListenerSettings;
  readonly names: Names;
  readonly access: AccessSettings;
  readonly authorization: AuthorizationSettings;
  readonly accounts: AccountSettings;
  readonly federation: FederationSettings;
  readonly limits: RequestLimits;
  readonly controllers: ControllerSettings;
  /** The audit settings. Undefined: nothing is recorded. */
  readonly audit: AuditSettings | undefined;
  /** The number of processes that share the port. */
  readonly workers: number;
  readonly log: LogSettings;
}

interface RequestLimits {
  /** The maximum number of concurrent read requests. */
  readonly maximumReads: number;
  /** The maximum number of concurrent write requests. */
  readonly maximumWrites: number;
  /** The maximum number of open watches. */
  readonly maximumWatches: number;
  /** The maximum size of a stored object. */
  readonly maximumObjectBytes: number;
  /** The maximum size of all stored objects of a namespace. Infinity: none. */
  readonly maximumNamespaceBytes: number;
}

/** The largest object that stores a part of a revocation list. */
const listObjectBytes = 1_048_576;

/** Throws UsageError for invalid settings. Files are read by the code that uses them. */
export const parseServerConfig = (given: GivenFlags): ServerConfig =>
  settingsOf(serveFlags, { given, make: serverConfig });

function serverConfig(values: FlagValues<typeof serveFlags>): ServerConfig {
  const dataDirectory = values["data-dir"];
  if (values.profile === "kubernetes" && !values["upstream-names"]) {
    throw new UsageError("--upstream-names=false is not for --profile kubernetes: it has only upstream's names");
  }
  const names = namesFor(values.profile, { hasUpstreamNames: values["upstream-names"] });
  const access = accessSettings(values);
  checkImpersonationOnly(access.impersonationOnly, names);
  const listener = listenerSettings(values);
  const controllers = controllerSettings(values);
  if (listener.revocationAddress !== undefined && controllers.certificates.revocation === undefined) {
    throw new UsageError("--revocation-http-address needs --revocation-url: without it nothing is served there");
  }
  if (controllers.certificates.revocation !== undefined && values["max-request-bytes"] < listObjectBytes) {
    throw new UsageError(
      `--revocation-url needs --max-request-bytes of at least ${listObjectBytes}, for the stored lists`,
    );
  }
  return {
    dataDirectory,
    storage: storageSettings(values),
    encryption: encryptionSettings(values),
    listener,
    names,
    access,
    authorization: authorizationSettings(values),
    accounts: accountSettings(values, dataDirectory),
    federation: federationSettings(values),
    limits: {
      maximumReads: values["max-requests-inflight"],
      maximumWrites: values["max-mutating-requests-inflight"],
      maximumWatches: values["max-watches"],
      maximumObjectBytes: values["max-request-bytes"],
      maximumNamespaceBytes: namespaceBytes(values),
    },
    controllers,
    audit: auditSettings(values),
    workers: workerCount(values.workers),
    log: logSettings(values),
  };
}

/** The quota of a namespace in bytes: at least one object of the maximum size. Throws UsageError. */
function namespaceBytes(values: {
  readonly "max-namespace-bytes": number;
  readonly "max-request-bytes": number;
}): number {
  const { "max-namespace-bytes": given, "max-request-bytes": objectBytes } = values;
  if (given === 0) return Infinity;
  if (given >= objectBytes) return given;
  throw new UsageError(
    `--max-namespace-bytes must be 0, for no limit, or at least --max-request-bytes (${objectBytes}): one object must fit`,
  );
}

const maximumWorkers = 256;

function workerCount(value: string): number {
  if (value === "auto") return availableParallelism();
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= maximumWorkers) return count;
  throw new UsageError(
    `--workers: ${JSON.stringify(value)} is neither auto nor a whole number from 1 to ${maximumWorkers}`,
  );
}

/** How many questions to webhooks may wait. Each occupies a place in the queues of requests, of which half stay free for other requests. */
export const pendingQuestions = ({ maximumReads, maximumWrites }: RequestLimits): number =>
  Math.max(1, Math.floor(Math.min(maximumReads, maximumWrites) / 2));
