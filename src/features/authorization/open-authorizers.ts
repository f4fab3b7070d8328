import type { Logger } from "pino";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Authorizer } from "../../machinery/authorization/authorizer.ts";
import type { AuthorizationSettings, BuiltInAuthorizer, ConfiguredAuthorizer } from "./settings.ts";
import type { OpenedWebhook, OpenWebhookAuthorizerOptions } from "./webhook/open-webhook-authorizer.ts";
import type { WebhookObserver } from "./webhook/webhook-authorizer.ts";

export interface AuthorizationObserver extends WebhookObserver {
  onReloaded(status: "success" | "failure"): void;
}

export interface AuthorizationConnection {
  readonly settings: AuthorizationSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Questions that may wait for one webhook. They hold places of requests, so others must be left. */
  readonly maximumPending: number;
  readonly observer: AuthorizationObserver;
}

export interface ConnectedAuthorization {
  /** In the order in which they are asked. The same list until the configuration changes. */
  authorizers(): readonly OpenedAuthorizer[];
  close(): void;
}

/** One of the authorizers, ready. Those that are in the server are known to it by their type. */
export type OpenedAuthorizer =
  | { readonly type: BuiltInAuthorizer; readonly name: string }
  | { readonly type: "Webhook"; readonly name: string; readonly authorize: Authorizer };

export interface OpenedAuthorizers {
  readonly authorizers: readonly OpenedAuthorizer[];
  close(): void;
}

/** Rejects when one of them cannot be opened; then none is open. */
export async function openAuthorizers(
  configured: readonly ConfiguredAuthorizer[],
  options: Omit<OpenWebhookAuthorizerOptions, "name" | "settings">,
): Promise<OpenedAuthorizers> {
  const authorizers: OpenedAuthorizer[] = [];
  const webhooks: OpenedWebhook[] = [];
  const close = (): void => {
    for (const webhook of webhooks) webhook.close();
  };
  try {
    for (const one of configured) {
      if (one.type !== "Webhook") {
        authorizers.push(one);
        continue;
      }
      const { type, name, webhook: settings } = one;
      const { openWebhookAuthorizer } = await import("./webhook/open-webhook-authorizer.ts");
      const webhook = await openWebhookAuthorizer({ ...options, name, settings });
      webhooks.push(webhook);
      authorizers.push({ type, name, authorize: webhook.authorize });
    }
  } catch (error) {
    close();
    throw error;
  }
  return { authorizers, close };
}
