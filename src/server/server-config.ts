import { availableParallelism } from "node:os";
import { accessFlags, accessSettings } from "../features/access/settings.ts";
import type { AccessSettings } from "../features/access/settings.ts";
import { accountFlags, accountSettings } from "../features/accounts/settings.ts";
import type { AccountSettings } from "../features/accounts/settings.ts";
import { namesFor } from "../machinery/api/names.ts";
import type { Names } from "../machinery/api/names.ts";
import { resolveFlags, UsageError } from "../machinery/command-line/flag.ts";
import type { Flags, GivenFlags } from "../machinery/command-line/flag.ts";
import { logFlags } from "../machinery/command-line/log-flags.ts";
import type { LogLevel } from "../machinery/command-line/log-flags.ts";
import { controllerFlags, controllerSettings } from "./controller-settings.ts";
import type { ControllerSettings } from "./controller-settings.ts";
import { listenerFlags, listenerSettings } from "./listener-settings.ts";
import type { ListenerSettings } from "./listener-settings.ts";
import { checkImpersonationOnly } from "./loopback-users.ts";
import { storageFlags, storageSettings } from "./storage-settings.ts";
import type { StorageSettings } from "./storage-settings.ts";

/** The settings of `signet serve`: kube-apiserver's and kube-controller-manager's names where they have one. */
export const serveFlags = {
  ...storageFlags,
  ...listenerFlags,
  profile: {
    type: "string",
    default: "platform",
    choices: ["platform", "kubernetes"],
    help: "The names that the API uses: platform.io, or upstream's k8s.io and kubernetes.io. Fixed for a data directory.",
  },
  ...accessFlags,
  ...accountFlags,
  "max-requests-inflight": {
    type: "integer",
    default: 400,
    minimum: 1,
    maximum: 100_000,
    help: "Reading requests that are worked on at once; more wait by user.",
  },
  "max-mutating-requests-inflight": {
    type: "integer",
    default: 200,
    minimum: 1,
    maximum: 100_000,
    help: "Writing requests that are worked on at once; more wait by user.",
  },
  "max-request-bytes": {
    type: "integer",
    default: 1_572_864,
    minimum: 65_536,
    maximum: 3_145_728,
    help: "The largest object that is stored, in bytes; larger ones are refused (413). As etcd's flag of this name.",
  },
  workers: {
    type: "string",
    default: "1",
    help: "Processes that serve the port together: a number, or auto for one each core.",
  },
  ...controllerFlags,
  "audit-log-path": { type: "file", help: "JSON lines, one for each request that was answered; - is standard output." },
  ...logFlags,
} as const satisfies Flags;

/** Everything that a server is told. Made once, by `parseServerConfig`: nothing behind it knows the flags. */
export interface ServerConfig {
  /** Keeps the CA, keys and admin.kubeconfig, and the objects unless etcd does. */
  readonly dataDirectory: string;
  readonly storage: StorageSettings;
  readonly listener: ListenerSettings;
  readonly names: Names;
  readonly access: AccessSettings;
  readonly accounts: AccountSettings;
  readonly limits: RequestLimits;
  readonly controllers: ControllerSettings;
  /** `-` is standard output. Undefined: requests leave no audit events. */
  readonly auditLogPath: string | undefined;
  /** How many processes serve the port together. */
  readonly workers: number;
  readonly logLevel: LogLevel;
}

interface RequestLimits {
  /** Reading requests that are worked on at once. */
  readonly maximumReads: number;
  /** Writing requests that are worked on at once. */
  readonly maximumWrites: number;
  /** The largest object that is stored. */
  readonly maximumObjectBytes: number;
}

/** Throws UsageError for settings that can't be used; files are read by what uses them. */
export function parseServerConfig(given: GivenFlags): ServerConfig {
  const values = resolveFlags(serveFlags, given);
  const dataDirectory = values["data-dir"];
  const names = namesFor(values.profile);
  const access = accessSettings(values);
  checkImpersonationOnly(access.impersonationOnly, names);
  return {
    dataDirectory,
    storage: storageSettings(values),
    listener: listenerSettings(values),
    names,
    access,
    accounts: accountSettings(values, dataDirectory),
    limits: {
      maximumReads: values["max-requests-inflight"],
      maximumWrites: values["max-mutating-requests-inflight"],
      maximumObjectBytes: values["max-request-bytes"],
    },
    controllers: controllerSettings(values),
    auditLogPath: values["audit-log-path"],
    workers: workerCount(values.workers),
    logLevel: values["log-level"],
  };
}

const maximumWorkers = 256;

function workerCount(value: string): number {
  if (value === "auto") return availableParallelism();
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= maximumWorkers) return count;
  throw new UsageError(`--workers: ${JSON.stringify(value)} is not auto, or a number from 1 to ${maximumWorkers}`);
}
