import type { HttpRequest } from "../../machinery/api/http-message.ts";
import type { VerifyToken } from "../../machinery/authentication/token-authentication.ts";
import type { OpenIssuersOptions } from "./oidc/open-issuers.ts";
import type { FederationSettings } from "./settings.ts";

interface FederationConnection extends Omit<OpenIssuersOptions, "fetch" | "pause"> {
  readonly settings: FederationSettings;
}

export interface ConnectedFederation {
  readonly verifiers: readonly VerifyToken[];
  /** Whether the configuration allows a request without credentials. Other rules may still refuse it. */
  mayBeAnonymous(request: HttpRequest): boolean;
  close(): void;
}

/**
 * Connects external authentication: OpenID Connect issuers, and a webhook for tokens. Loads only the code of configured parts. Rejects with
 * UsageError for a file that cannot be used.
 */
export async function connectFederation(connection: FederationConnection): Promise<ConnectedFederation> {
  const { issuers, webhook } = connection.settings;
  const openedIssuers = issuers && (await import("./oidc/open-issuers.ts")).openIssuers(issuers, connection);
  const openedWebhook = webhook && (await import("./webhook/open-webhook.ts")).openWebhook(webhook, connection);
  const opened = [openedIssuers, openedWebhook].filter((one) => one !== undefined);
  return {
    verifiers: opened.map(({ verify }) => verify),
    mayBeAnonymous: (request) => openedIssuers?.mayBeAnonymous(request) ?? true,
    close() {
      for (const one of opened) one.close();
    },
  };
}
