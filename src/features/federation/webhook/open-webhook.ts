import type { Logger } from "pino";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { VerifyToken } from "../../../machinery/authentication/token-authentication.ts";
import { httpsTransport } from "../../../machinery/client/https-transport.ts";
import { KubeconfigError, readKubeconfig } from "../../../machinery/client/kubeconfig.ts";
import type { KubeconfigContext } from "../../../machinery/client/kubeconfig.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import type { WebhookSettings } from "../settings.ts";
import { askWebhook } from "./ask-webhook.ts";
import { webhookTokens } from "./webhook-tokens.ts";

export interface OpenWebhookOptions {
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "error">;
  readonly apiAudiences: readonly string[];
  readonly ownIssuers: readonly string[];
}

/** Opens the webhook of a kubeconfig, without asking it. Throws UsageError for a file that cannot be used. */
export function openWebhook(
  { file, cacheMilliseconds, version }: WebhookSettings,
  { log, ...options }: OpenWebhookOptions,
): { readonly verify: VerifyToken; close(): void } {
  const { transport: connection } = contextOf(file);
  const transport = httpsTransport(connection);
  const webhook = connection.server;
  const verify = webhookTokens({
    ...options,
    ask: askWebhook({ transport, version }),
    cacheMilliseconds,
    onChange: ({ isAvailable, error }) =>
      isAvailable
        ? log.info({ webhook }, "the webhook that checks tokens answers again")
        : log.error({ webhook, err: error }, "the webhook that checks tokens fails; its tokens are refused meanwhile"),
  });
  return { verify, close: () => transport.close() };
}

function contextOf(file: string): KubeconfigContext {
  try {
    return readKubeconfig({ file });
  } catch (cause) {
    if (!(cause instanceof KubeconfigError)) throw cause;
    throw new UsageError(`--authentication-token-webhook-config-file: ${cause.message}`, { cause });
  }
}
