import type { AuditFormat } from "../../machinery/audit/audit-event.ts";
import type { EventQueueOptions } from "../../machinery/audit/event-queue.ts";
import type { FileTargetOptions } from "../../machinery/audit/file-target.ts";
import type { QueuedSinkOptions } from "../../machinery/audit/queued-sink.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";

const modes = ["batch", "blocking", "blocking-strict"] as const;
const modeHelp =
  "blocking: each request waits until its events are there. blocking-strict: it is refused when its first event cannot be " +
  "recorded. batch: requests never wait.";
const versions = ["audit.k8s.io/v1"] as const;
const count = { type: "integer", minimum: 1, maximum: 1_000_000 } as const;
const bytes = { type: "integer", minimum: 1024, maximum: 16 * 1024 * 1024 } as const;
const days = { type: "integer", minimum: 0, maximum: 36_500 } as const;

export const auditFlags = {
  "audit-policy-file": {
    type: "file",
    isFollowed: true,
    help: "Policy (audit.k8s.io/v1): which requests are recorded, and how much of them. Default: all, at level Metadata.",
  },
  "audit-log-path": {
    type: "file",
    help: "File for audit events, one JSON line each. - is standard output.",
  },
  "audit-log-format": {
    type: "string",
    default: "json",
    choices: ["json", "legacy"],
    help: "The format of the file's lines: events in JSON, or a text of a few words.",
  },
  "audit-log-version": {
    type: "string",
    default: "audit.k8s.io/v1",
    choices: versions,
    help: "The version of the file's events.",
  },
  "audit-log-mode": { type: "string", default: "blocking", choices: modes, help: modeHelp },
  "audit-log-maxsize": {
    type: "integer",
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    help: "Megabytes after which the file is moved away and a new one begins. 0: never, as where logrotate does it.",
  },
  "audit-log-maxage": { ...days, default: 0, help: "Days after which a moved file is removed. 0: never." },
  "audit-log-maxbackup": {
    type: "integer",
    default: 0,
    minimum: 0,
    maximum: 100_000,
    help: "How many moved files are kept. 0: all.",
  },
  "audit-log-compress": { type: "boolean", default: false, help: "Compress moved files with gzip." },
  "audit-log-batch-buffer-size": {
    ...count,
    default: 10_000,
    help: "Events that may wait. More are lost and counted.",
  },
  "audit-log-batch-max-size": { ...count, default: 2000, help: "Events of one write." },
  "audit-log-batch-max-wait": { type: "duration", default: "100ms", help: "How long an event waits for others." },
  "audit-log-batch-throttle-enable": { type: "boolean", default: false, help: "Limit writes of batches." },
  "audit-log-batch-throttle-qps": { ...count, default: 10, help: "Writes in a second, on average." },
  "audit-log-batch-throttle-burst": { ...count, default: 15, help: "Writes at once, after a pause." },
  "audit-log-truncate-enabled": {
    type: "boolean",
    default: false,
    help: "Leave the bodies out of events that are too large. Without them, an event that is still too large is lost.",
  },
  "audit-log-truncate-max-event-size": { ...bytes, default: 102_400, help: "The largest event in bytes." },
  "audit-log-truncate-max-batch-size": { ...bytes, default: 10_485_760, help: "The largest batch in bytes." },
  "audit-log-chain": {
    type: "boolean",
    default: false,
    help: "Chain the file's lines by hashes and sign checkpoints, so that signet audit verify finds every change.",
  },
  "audit-log-chain-key-file": {
    type: "file",
    help: "PEM file with the Ed25519 key that signs checkpoints. Default: audit-log.key in the data directory, made when missing.",
  },
  "audit-log-checkpoint-interval": {
    type: "duration",
    default: "10s",
    help: "How long events may wait for the signed checkpoint that covers them.",
  },
  "audit-webhook-config-file": {
    type: "file",
    isFollowed: true,
    help: "Kubeconfig whose server (a whole URL) gets audit events, as an EventList.",
  },
  "audit-webhook-version": {
    type: "string",
    default: "audit.k8s.io/v1",
    choices: versions,
    help: "The version of the webhook's events.",
  },
  "audit-webhook-mode": { type: "string", default: "batch", choices: modes, help: modeHelp },
  "audit-webhook-initial-backoff": {
    type: "duration",
    default: "10s",
    help: "The pause before the second of five attempts. Each next one is half as long again.",
  },
  "audit-webhook-batch-buffer-size": {
    ...count,
    default: 10_000,
    help: "Events that may wait. More are lost and counted.",
  },
  "audit-webhook-batch-max-size": { ...count, default: 400, help: "Events of one request." },
  "audit-webhook-batch-max-wait": { type: "duration", default: "30s", help: "How long an event waits for others." },
  "audit-webhook-batch-throttle-enable": { type: "boolean", default: true, help: "Limit requests to the webhook." },
  "audit-webhook-batch-throttle-qps": { ...count, default: 10, help: "Requests in a second, on average." },
  "audit-webhook-batch-throttle-burst": { ...count, default: 15, help: "Requests at once, after a pause." },
  "audit-webhook-truncate-enabled": {
    type: "boolean",
    default: false,
    help: "Leave the bodies out of events that are too large. Without them, an event that is still too large is lost.",
  },
  "audit-webhook-truncate-max-event-size": { ...bytes, default: 102_400, help: "The largest event in bytes." },
  "audit-webhook-truncate-max-batch-size": { ...bytes, default: 10_485_760, help: "The largest batch in bytes." },
} as const satisfies Flags;

type Values = FlagValues<typeof auditFlags>;

/** The audit settings. Undefined: nothing is recorded, and the code is not loaded. */
export interface AuditSettings {
  readonly policyFile: string | undefined;
  readonly log: AuditLogSettings | undefined;
  readonly webhook: AuditWebhookSettings | undefined;
}

/** How events are queued for a backend. */
export interface BackendSettings
  extends
    Pick<EventQueueOptions, "maximumEvents" | "batchEvents" | "batchBytes" | "waitMilliseconds" | "throttle">,
    Pick<QueuedSinkOptions, "mode" | "maximumEventBytes"> {}

export interface AuditLogSettings extends Pick<
  FileTargetOptions,
  "path" | "maximumBytes" | "maximumAgeMilliseconds" | "maximumBackups" | "isCompressed"
> {
  readonly format: AuditFormat;
  readonly backend: BackendSettings;
  readonly chain: ChainSettings | undefined;
}

interface ChainSettings {
  /** The file of the key. Undefined: a key in the data directory. */
  readonly keyFile: string | undefined;
  readonly checkpointMilliseconds: number;
}

export interface AuditWebhookSettings {
  /** The kubeconfig of the webhook. */
  readonly file: string;
  readonly initialBackoffMilliseconds: number;
  readonly backend: BackendSettings;
}

const largestBatchBytes = 4 * 1024 * 1024;
const dayMilliseconds = 86_400_000;

/** Throws UsageError for flags that do not go together. */
export function auditSettings(values: Values): AuditSettings | undefined {
  const policyFile = values["audit-policy-file"];
  const log = logSettings(values);
  const webhook = webhookSettings(values);
  if (log !== undefined || webhook !== undefined) return { policyFile, log, webhook };
  if (policyFile !== undefined) {
    throw new UsageError(
      "--audit-policy-file: say where events go: give --audit-log-path or --audit-webhook-config-file",
    );
  }
  return undefined;
}

function logSettings(values: Values): AuditLogSettings | undefined {
  const path = values["audit-log-path"];
  const isChained = values["audit-log-chain"];
  if (path === undefined) {
    if (isChained) throw new UsageError("--audit-log-chain: give --audit-log-path, the file whose lines are chained");
    return undefined;
  }
  if (isChained && (path === "-" || values["audit-log-format"] !== "json")) {
    throw new UsageError("--audit-log-chain: it is for a file with --audit-log-format json");
  }
  if (!isChained && values["audit-log-chain-key-file"] !== undefined) {
    throw new UsageError("--audit-log-chain-key-file: give --audit-log-chain too");
  }
  return {
    path,
    format: values["audit-log-format"],
    maximumBytes: values["audit-log-maxsize"] * 1024 * 1024,
    maximumAgeMilliseconds: values["audit-log-maxage"] * dayMilliseconds,
    maximumBackups: values["audit-log-maxbackup"],
    isCompressed: values["audit-log-compress"],
    backend: backendSettings(values, "audit-log"),
    chain: isChained
      ? {
          keyFile: values["audit-log-chain-key-file"],
          checkpointMilliseconds: Math.max(1000, values["audit-log-checkpoint-interval"]),
        }
      : undefined,
  };
}

function webhookSettings(values: Values): AuditWebhookSettings | undefined {
  const file = values["audit-webhook-config-file"];
  if (file === undefined) return undefined;
  return {
    file,
    initialBackoffMilliseconds: values["audit-webhook-initial-backoff"],
    backend: backendSettings(values, "audit-webhook"),
  };
}

function backendSettings(values: Values, backend: "audit-log" | "audit-webhook"): BackendSettings {
  const mode = values[`${backend}-mode` as const];
  // Only batches are throttled, because a request that waits for its event is slow enough already.
  const isThrottled = mode === "batch" && values[`${backend}-batch-throttle-enable` as const];
  const isTruncated = values[`${backend}-truncate-enabled` as const];
  return {
    mode,
    maximumEvents: values[`${backend}-batch-buffer-size` as const],
    batchEvents: values[`${backend}-batch-max-size` as const],
    waitMilliseconds: values[`${backend}-batch-max-wait` as const],
    throttle: isThrottled
      ? {
          perSecond: values[`${backend}-batch-throttle-qps` as const],
          burst: values[`${backend}-batch-throttle-burst` as const],
        }
      : undefined,
    batchBytes: isTruncated ? values[`${backend}-truncate-max-batch-size` as const] : largestBatchBytes,
    maximumEventBytes: isTruncated ? values[`${backend}-truncate-max-event-size` as const] : undefined,
  };
}
