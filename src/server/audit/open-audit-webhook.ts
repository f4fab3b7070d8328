import type { Log } from "../../machinery/logging/log.ts";
import { unreferencedSleep } from "../../machinery/api/clock.ts";
import { webhookTarget } from "../../machinery/audit/webhook-target.ts";
import { httpsTransport } from "../../machinery/client/https/https-transport.ts";
import type { Transport } from "../../machinery/client/transport.ts";
import { readSettingsKubeconfig } from "../../machinery/command-line/settings/settings-kubeconfig.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { AuditWebhookSettings } from "./audit-settings.ts";
import { openAuditBackend } from "./open-audit-backend.ts";
import type { AuditBackend } from "./open-audit-backend.ts";

interface AuditWebhookOptions {
  readonly followed: FollowedFiles;
  readonly log: Log;
}

/** Opens the backend that posts events to a webhook. Throws UsageError for a kubeconfig that cannot be used. */
export function openAuditWebhook(settings: AuditWebhookSettings, { followed, log }: AuditWebhookOptions): AuditBackend {
  const { file, initialBackoffMilliseconds, backend } = settings;
  const webhook = followWebhook(file, followed);
  return openAuditBackend({
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
    log,
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
function followWebhook(file: string, followed: FollowedFiles): () => OpenedWebhook {
  return followed.follow<OpenedWebhook>({
    setting: webhookFlag,
    files: (opened) => opened?.files ?? [file],
    load: () => openedWebhook(file),
    retirement: { milliseconds: retirementMilliseconds, close: ({ transport }) => transport.close() },
    describe: ({ server }) => ({ webhook: server }),
  });
}

function openedWebhook(file: string): OpenedWebhook {
  const { transport, files } = readSettingsKubeconfig(webhookFlag, file);
  return { server: transport.server, transport: httpsTransport(transport), files };
}
