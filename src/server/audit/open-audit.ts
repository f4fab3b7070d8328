import type { Log } from "../../machinery/logging/log.ts";
import { issuedCredential } from "../../features/accounts/issued-credential.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import { defaultAuditPolicy, parseAuditPolicy } from "../../machinery/audit/audit-policy.ts";
import type { AuditPolicy } from "../../machinery/audit/audit-policy.ts";
import { auditRequests } from "../../machinery/audit/audit-requests.ts";
import { AuditedBodies } from "../../machinery/audit/audited-bodies.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { AuditCounts } from "../../machinery/http/metrics/metrics.ts";
import type { RequestAudit } from "../../machinery/http/request-audit.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";
import type { AuditSettings } from "./audit-settings.ts";
import { openAuditLog } from "./open-audit-log.ts";
import { openAuditWebhook } from "./open-audit-webhook.ts";

/** How long a stopping server waits for the requests that it has cut off. */
const closingMilliseconds = 2000;

interface OpenAuditOptions {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataDirectory: string;
  readonly followed: FollowedFiles;
  readonly resources: readonly ResourceDefinition[];
  readonly reviews: readonly ReviewDefinition[];
}

interface OpenedAudit {
  readonly requests: RequestAudit;
  counts(): AuditCounts;
  close(): Promise<void>;
}

/** Opens the backends of the audit log. Throws UsageError for a file that cannot be used. */
export function openAudit(settings: AuditSettings, options: OpenAuditOptions): OpenedAudit {
  const policy = policyOf(settings, options);
  const webhook = settings.webhook && openAuditWebhook(settings.webhook, options);
  // Last, because it makes the log's file: settings that are refused must leave none behind.
  const log = settings.log && openAuditLog(settings.log, options);
  const backends = [log, webhook].filter((one) => one !== undefined);
  const { names, clock, resources, reviews } = options;
  const requestsOfLevel = new Map<string, number>();
  let events = 0;
  let rejected = 0;
  const requests = auditRequests({
    names,
    clock,
    annotate: issuedCredential,
    policy,
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
