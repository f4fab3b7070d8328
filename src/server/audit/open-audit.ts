import { join } from "node:path";
import type { Log } from "../../machinery/logging/log.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { issuedCredential } from "../../features/accounts/issued-credential.ts";
import { monotonicClock, systemSchedule, unreferencedSleep } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import { recoveryReport } from "../../machinery/audit/recovery-report.ts";
import { rateLimitedReport } from "../../machinery/logging/rate-limited-report.ts";
import { defaultAuditPolicy, parseAuditPolicy } from "../../machinery/audit/audit-policy.ts";
import type { AuditPolicy } from "../../machinery/audit/audit-policy.ts";
import { auditRequests } from "../../machinery/audit/audit-requests.ts";
import type { AuditSink } from "../../machinery/audit/audit-requests.ts";
import { AuditedBodies } from "../../machinery/audit/audited-bodies.ts";
import { ownChainKey, readChainKey, writePublicKey } from "../../machinery/audit/chain/chain-key.ts";
import { ChainLinks } from "../../machinery/audit/chain/chain-links.ts";
import { chainWriters } from "../../machinery/audit/chain/chain-writers.ts";
import { EventQueue } from "../../machinery/audit/event-queue.ts";
import type { LineTarget } from "../../machinery/audit/event-queue.ts";
import { fileTarget } from "../../machinery/audit/file-target.ts";
import type { FileChain } from "../../machinery/audit/file-target.ts";
import { queuedSink } from "../../machinery/audit/queued-sink.ts";
import type { QueuedSinkOptions } from "../../machinery/audit/queued-sink.ts";
import { webhookTarget } from "../../machinery/audit/webhook-target.ts";
import { httpsTransport } from "../../machinery/client/https/https-transport.ts";
import type { Transport } from "../../machinery/client/transport.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import { readSettingsKubeconfig } from "../../machinery/command-line/settings/settings-kubeconfig.ts";
import type { FollowedFiles } from "../../machinery/files/followed-files.ts";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import type { AuditCounts } from "../../machinery/http/metrics/metrics.ts";
import type { RequestAudit } from "../../machinery/http/request-audit.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";
import type { AuditLogSettings, AuditSettings, AuditWebhookSettings, BackendSettings } from "./audit-settings.ts";

/** How long a stopping server waits for the requests that it has cut off, and then again for a blocked disk or a silent webhook. */
const closingMilliseconds = 2000;

export interface OpenAuditOptions {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataDirectory: string;
  readonly followed: FollowedFiles;
  readonly resources: readonly ResourceDefinition[];
  readonly reviews: readonly ReviewDefinition[];
}

export interface OpenedAudit {
  readonly requests: RequestAudit;
  counts(): AuditCounts;
  close(): Promise<void>;
}

/** An open backend: the sink for its events, and the number of events that were lost. */
interface Backend {
  /** The name of the target in metrics. */
  readonly name: "log" | "webhook";
  readonly sink: AuditSink;
  lost(): number;
  close(): Promise<void>;
}

/** Opens the backends of the audit log. Throws UsageError for a file that cannot be used. */
export function openAudit(settings: AuditSettings, options: OpenAuditOptions): OpenedAudit {
  const backends = [
    settings.log && openLog(settings.log, options),
    settings.webhook && openWebhook(settings.webhook, options),
  ].filter((one) => one !== undefined);
  const { names, clock, resources, reviews } = options;
  const requestsOfLevel = new Map<string, number>();
  let events = 0;
  let rejected = 0;
  const requests = auditRequests({
    names,
    clock,
    annotate: issuedCredential,
    policy: policyOf(settings, options),
    bodies: new AuditedBodies(resources, reviews),
    sinks: backends.map(({ sink }) => sink),
    onRequest: (level) => requestsOfLevel.set(level, (requestsOfLevel.get(level) ?? 0) + 1),
    onEvent: () => events++,
    onRejected: () => rejected++,
  });
  return {
    requests,
    counts: () => ({
      events,
      requests: requestsOfLevel,
      rejected,
      lost: backends.map(({ name, lost }) => ({ plugin: name, events: lost() })),
    }),
    async close() {
      // Waits for requests that were cut off, so that their events are written too.
      await waitAtMost(closingMilliseconds, requests.allAnswered());
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}

function policyOf(
  { policyFile: file, log, webhook }: AuditSettings,
  { names, followed }: OpenAuditOptions,
): () => AuditPolicy {
  if (file === undefined) {
    const isStrict = [log, webhook].some((one) => one?.backend.mode === "blocking-strict");
    const policy = defaultAuditPolicy({ isStrict });
    return () => policy;
  }
  const setting = "audit-policy-file";
  return followed.follow({
    setting,
    files: () => [file],
    load: () =>
      parseSettingsFile({ flag: setting, file, read: readFollowedFile }, (text) => parseAuditPolicy(text, names)),
    describe: ({ rules }) => ({ rules: rules.length }),
  });
}

function openLog(settings: AuditLogSettings, options: OpenAuditOptions): Backend {
  const { path, chain, format, backend } = settings;
  const { dataDirectory, clock, log } = options;
  const onTidyFailure = rateLimitedReport<unknown>((error) =>
    log.error({ path, err: error }, "could not compress or remove old audit logs"),
  );
  let target: LineTarget;
  try {
    target = fileTarget({
      ...settings,
      lockFile: join(dataDirectory, "audit-log.lock"),
      tidyLockFile: join(dataDirectory, "audit-log-backups.lock"),
      chain: chain && openChain(chain, options),
      clock,
      monotonic: monotonicClock,
      onTidyFailure,
    });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`--audit-log-path: cannot write ${path}: ${fileFailureReason(cause)}`, { cause });
  }
  return openBackend({
    name: "log",
    target,
    backend,
    sink: { format, hasAnnotations: chain !== undefined },
    afterFailure: "retry",
    where: () => ({ path }),
    options,
  });
}

function openChain(
  { keyFile, checkpointMilliseconds }: NonNullable<AuditLogSettings["chain"]>,
  { dataDirectory, clock, log }: OpenAuditOptions,
): FileChain {
  const writers = chainWriters(join(dataDirectory, "audit-log-writers.lock"));
  const checkpointFile = join(dataDirectory, "audit-log.checkpoint");
  try {
    const privateKey =
      keyFile === undefined ? ownChainKey(join(dataDirectory, "audit-log.key")) : readChainKey(keyFile);
    writePublicKey(join(dataDirectory, "audit-log.pub"), privateKey);
    return {
      checkpointMilliseconds,
      links: new ChainLinks({
        privateKey,
        checkpointFile,
        checkpointMilliseconds,
        writers,
        now: () => clock.now(),
        onCut: (cut) =>
          log.error(
            cut,
            "the audit log lacks lines that were written: it was changed; it is moved away, and a new file begins",
          ),
        onNotKept: rateLimitedReport<unknown>((error) =>
          log.error(
            { file: checkpointFile, reason: fileFailureReason(error) },
            "cannot keep the newest checkpoint of the audit log: nobody would find that lines after an older one were cut off; make room for " +
              "the file, and let the server write it",
          ),
        ),
      }),
    };
  } catch (cause) {
    if (!(cause instanceof UnusableFile)) throw cause;
    throw new UsageError(`--audit-log-chain-key-file: ${cause.message}`, { cause });
  }
}

function openWebhook(settings: AuditWebhookSettings, options: OpenAuditOptions): Backend {
  const { file, initialBackoffMilliseconds, backend } = settings;
  const webhook = followWebhook(file, options);
  return openBackend({
    name: "webhook",
    target: webhookTarget({
      transport: {
        send: (request) => webhook().transport.send(request),
        close: () => webhook().transport.close(),
      },
      initialBackoffMilliseconds,
      sleep: unreferencedSleep,
      random: Math.random,
    }),
    backend,
    sink: { format: "json" },
    afterFailure: "drop",
    where: () => ({ webhook: webhook().server }),
    options,
  });
}

interface OpenedWebhook {
  readonly server: string;
  readonly transport: Transport;
  /** The kubeconfig and the files that it names. */
  readonly files: readonly string[];
}

const webhookFlag = "audit-webhook-config-file";
/** After this time, events on the way to the old webhook have arrived, or are sent again to the new one. */
const retirementMilliseconds = 60_000;

/** Opens the webhook of a kubeconfig, and opens it again when the kubeconfig changes. */
function followWebhook(file: string, { followed }: OpenAuditOptions): () => OpenedWebhook {
  return followed.follow<OpenedWebhook>({
    setting: webhookFlag,
    files: (opened) => opened?.files ?? [file],
    load: () => openedWebhook(file),
    retirement: { milliseconds: retirementMilliseconds, close: ({ transport }) => transport.close() },
    describe: ({ server }) => ({ webhook: server }),
  });
}

function openedWebhook(file: string): OpenedWebhook {
  const { transport, files } = readSettingsKubeconfig(webhookFlag, { file, isFollowed: true });
  return { server: transport.server, transport: httpsTransport(transport), files };
}

interface OpenBackend {
  readonly name: Backend["name"];
  readonly target: LineTarget;
  readonly backend: BackendSettings;
  readonly sink: Pick<QueuedSinkOptions, "format" | "hasAnnotations">;
  readonly afterFailure: "retry" | "drop";
  /** For the log. */
  readonly where: () => object;
  readonly options: Pick<OpenAuditOptions, "clock" | "log">;
}

function openBackend({ name, target, backend, sink, afterFailure, where, options }: OpenBackend): Backend {
  const { log } = options;
  let tooLarge = 0;
  const lost = (): number => queue.lost + tooLarge;
  const failed = rateLimitedReport<unknown>((error) => {
    const reason = messageOf(error);
    log.error({ ...where(), reason, lostEvents: lost() }, "cannot write audit events: those that cannot wait are lost");
  });
  const queue: EventQueue = new EventQueue({
    ...backend,
    target,
    schedule: systemSchedule,
    monotonic: monotonicClock,
    afterFailure,
    onFailure: failed,
    onRecovered: recoveryReport(systemSchedule, (lostEvents) =>
      log.warn({ ...where(), lostEvents }, "audit events are being written again"),
    ),
  });
  const flushAtExit = (): void => queue.deliverAtExit();
  process.once("exit", flushAtExit);
  return {
    name,
    sink: queuedSink({
      ...sink,
      queue,
      mode: backend.mode,
      maximumEventBytes: backend.maximumEventBytes,
      onTooLarge() {
        tooLarge++;
        failed(new Error("an event is larger than allowed without its bodies too"));
      },
    }),
    lost,
    async close() {
      const lostEvents = await queue.close({ withinMilliseconds: closingMilliseconds });
      process.off("exit", flushAtExit);
      if (lostEvents > 0) log.error({ ...where(), lostEvents }, "the last audit events could not be written");
    },
  };
}
