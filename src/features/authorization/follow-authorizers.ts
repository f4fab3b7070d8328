import type { Log } from "../../machinery/logging/log.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Authorizer } from "../../machinery/authorization/authorizer.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { AuthorizationSettings, ConfiguredAuthorizer, NamedBuiltIn } from "./settings.ts";
import { openWebhookAuthorizer } from "./webhook/open-webhook-authorizer.ts";
import type { OpenedWebhook } from "./webhook/open-webhook-authorizer.ts";
import type { WebhookObserver } from "./webhook/webhook-authorizer.ts";

export interface AuthorizationObserver extends WebhookObserver {
  onReloaded(status: "success" | "failure"): void;
}

export interface AuthorizationConnection {
  readonly settings: AuthorizationSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  /**
   * The most requests that may wait for one webhook. Each occupies a place of the server's concurrent requests, so that enough must be left
   * for others.
   */
  readonly maximumPending: number;
  readonly observer: AuthorizationObserver;
}

export interface ConnectedAuthorization {
  /** The authorizers in the order in which they are asked. The list is the same object until the configuration changes. */
  authorizers(): readonly OpenedAuthorizer[];
  close(): void;
}

/** An opened authorizer. The server identifies built-in ones by their type. */
type OpenedAuthorizer =
  | NamedBuiltIn
  | { readonly type: "Webhook"; readonly name: string; readonly authorize: Authorizer };

/** Where the authorizers are configured. */
interface AuthorizersSource {
  /** The flag that names the file. */
  readonly flag: string;
  readonly file: string;
  /** Throws UsageError for a file that cannot be used. */
  readonly read: () => readonly ConfiguredAuthorizer[];
}

/** The opened authorizers of one version of the files. */
interface OpenedVersion {
  readonly authorizers: readonly OpenedAuthorizer[];
  readonly webhooks: readonly OpenedWebhook[];
}

/** How long replaced webhooks stay open, for the requests that have already asked them. */
const retirementMilliseconds = 60_000;

/**
 * Opens the configured authorizers, and opens them anew when the file, or a kubeconfig of a webhook, changes. While these
 * files cannot be used, the old authorizers stay in force. Throws UsageError for files that cannot be used at the start.
 */
export function followAuthorizers(
  source: AuthorizersSource,
  connection: AuthorizationConnection,
): ConnectedAuthorization {
  const { followed, observer } = connection;
  const { flag, file } = source;
  const current = followed.follow<OpenedVersion>({
    setting: flag,
    files: (opened) => [...new Set([file, ...(opened?.webhooks.flatMap(({ files }) => files) ?? [])])],
    load(previous) {
      try {
        return openAuthorizers(source, connection);
      } catch (error) {
        if (previous !== undefined) observer.onReloaded("failure");
        throw error;
      }
    },
    onChange: () => observer.onReloaded("success"),
    retirement: { milliseconds: retirementMilliseconds, close: ({ webhooks }) => close(webhooks) },
    describe: ({ authorizers }) => ({ authorizers: authorizers.map(({ type, name }) => `${type} ${name}`) }),
  });
  return { authorizers: () => current().authorizers, close: () => close(current().webhooks) };
}

/** Opens all authorizers. If one of them cannot be opened, closes the others and throws UsageError. */
function openAuthorizers({ flag, read }: AuthorizersSource, options: AuthorizationConnection): OpenedVersion {
  const webhooks: OpenedWebhook[] = [];
  const authorizers = read().map((one): OpenedAuthorizer => {
    if (one.type !== "Webhook") return one;
    const { type, name, webhook: settings } = one;
    try {
      const webhook = openWebhookAuthorizer({ ...options, name, settings });
      webhooks.push(webhook);
      return { type, name, authorize: webhook.authorize };
    } catch (cause) {
      close(webhooks);
      throw new UsageError(`--${flag}: ${messageOf(cause)}`, { cause });
    }
  });
  return { authorizers, webhooks };
}

function close(webhooks: readonly OpenedWebhook[]): void {
  for (const webhook of webhooks) webhook.close();
}
