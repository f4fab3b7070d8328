import { certificateFlags, certificateSettings } from "../../features/certificates/settings.ts";
import type { CertificateSettings } from "../../features/certificates/settings.ts";
import { nodeFlags, nodeSettings } from "../../features/nodes/settings.ts";
import type { NodeSettings } from "../../features/nodes/settings.ts";
import { settingsOf, UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags, GivenFlags } from "../../machinery/command-line/settings/flag.ts";
import { logFlags, logSettings } from "../../machinery/command-line/settings/log-flags.ts";
import type { LogSettings } from "../../machinery/files/lines/process-log.ts";
import { plainAddress } from "./listener-settings.ts";
import type { PlainAddress } from "./listener-settings.ts";

/**
 * The names of all controllers for `--controllers`. They are kube-controller-manager's names if it has the same
 * controller.
 */
export const controllerNames = [
  "bootstrapsigner",
  "certificate-inventory",
  "certificate-record-cleaner",
  "clusterrole-aggregation",
  "csrapproving",
  "csrcleaner",
  "csrpolicyapproving",
  "csrsigning",
  "eventcleaner",
  "garbagecollector",
  "namespace",
  "nodelifecycle",
  "podgc",
  "revocation-cleaner",
  "revocation-list-publisher",
  "root-ca-cert-publisher",
  "serviceaccount",
  "serviceaccount-token",
  "tokencleaner",
  "trust-bundle-publisher",
  "unsigned-request-reporter",
] as const;

/** The settings of the controllers, for `signet serve` and `signet controllers`. */
export const controllerFlags = {
  controllers: {
    type: "strings",
    default: ["*"],
    help:
      "The controllers to run in this process: * enables all, NAME one, -NAME disables one, false disables all. " +
      `Names: ${controllerNames.join(", ")}.`,
  },
  ...certificateFlags,
  ...nodeFlags,
  "leader-elect": {
    type: "boolean",
    default: true,
    help: "Run the controllers only while holding their Lease, so that only one of several servers runs them.",
  },
} as const satisfies Flags;

export interface ControllerSettings {
  /** The names of the controllers that run in this process. */
  readonly enabled: ReadonlySet<string>;
  /** Whether they run only while this process holds their Lease. */
  readonly isElected: boolean;
  readonly certificates: CertificateSettings;
  readonly nodes: NodeSettings;
}

export const controllerSettings = (values: FlagValues<typeof controllerFlags>): ControllerSettings => ({
  enabled: enabledControllers(values.controllers),
  isElected: values["leader-elect"],
  certificates: certificateSettings(values),
  nodes: nodeSettings(values),
});

/**
 * Returns the controllers that `--controllers` enables, by kube-controller-manager's rules: `NAME` enables and `-NAME` disables a
 * controller, and the first item that names it decides. `*` enables every controller that is not named. `false` or `-*` alone disables all,
 * `true` alone enables all. Throws UsageError for an unknown name.
 */
function enabledControllers(items: readonly string[]): ReadonlySet<string> {
  const [only] = items;
  if (items.length === 1 && (only === "false" || only === "-*")) return new Set();
  if (items.length === 1 && only === "true") return new Set(controllerNames);
  for (const item of items) {
    const name = item.replace(/^-/, "");
    if (item === "*" || controllerNames.some((known) => known === name)) continue;
    throw new UsageError(
      `--controllers: there is no controller ${JSON.stringify(name)}: use one of *, ${controllerNames.join(", ")}`,
    );
  }
  const isOnByDefault = items.includes("*");
  return new Set(
    controllerNames.filter((name) => {
      const first = items.find((item) => item === name || item === `-${name}`);
      return first === undefined ? isOnByDefault : first === name;
    }),
  );
}

/** The settings of `signet controllers`. */
export const remoteControllerFlags = {
  ...controllerFlags,
  "metrics-bind-address": {
    type: "string",
    help: "ADDRESS:PORT at which /metrics, /livez and /readyz are served over plain HTTP, such as 127.0.0.1:10257. Default: nowhere.",
  },
  ...logFlags,
} as const satisfies Flags;

export interface RemoteControllerConfig extends ControllerSettings {
  /** Undefined: metrics are served nowhere. */
  readonly metricsAddress: PlainAddress | undefined;
  readonly log: LogSettings;
}

/** Throws UsageError for invalid settings. */
export const parseRemoteControllerConfig = (given: GivenFlags): RemoteControllerConfig =>
  settingsOf(remoteControllerFlags, { given, make: remoteControllerConfig });

function remoteControllerConfig(values: FlagValues<typeof remoteControllerFlags>): RemoteControllerConfig {
  const settings = controllerSettings(values);
  if (settings.enabled.size === 0) {
    throw new UsageError("--controllers disables every controller, so there is nothing to run: enable at least one");
  }
  const metricsAddress = plainAddress("metrics-bind-address", values["metrics-bind-address"]);
  return { ...settings, metricsAddress, log: logSettings(values) };
}
