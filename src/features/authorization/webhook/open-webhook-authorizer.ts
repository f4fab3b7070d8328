import { readFileSync } from "node:fs";
import type { Logger } from "pino";
import type { Clock } from "../../../machinery/api/clock.ts";
import { rateLimitedReport } from "../../../machinery/api/rate-limited-report.ts";
import type { Authorizer } from "../../../machinery/authorization/authorizer.ts";
import { httpsTransport } from "../../../machinery/client/https-transport.ts";
import type { HttpsTransportOptions } from "../../../machinery/client/https-transport.ts";
import { readKubeconfig } from "../../../machinery/client/kubeconfig.ts";
import { postWebhook } from "../../../machinery/client/post-webhook.ts";
import type { WebhookAuthorizerSettings } from "../settings.ts";
import { webhookAuthorizer } from "./webhook-authorizer.ts";
import type { WebhookObserver } from "./webhook-authorizer.ts";

export interface OpenWebhookAuthorizerOptions {
  readonly name: string;
  readonly settings: WebhookAuthorizerSettings;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "error" | "warn">;
  readonly maximumPending: number;
  readonly observer: WebhookObserver;
}

export interface OpenedWebhook {
  readonly authorize: Authorizer;
  close(): void;
}

/** Opens a webhook without asking it. Throws KubeconfigError for a file that cannot be used. */
export async function openWebhookAuthorizer({
  name,
  settings,
  clock,
  log,
  maximumPending,
  observer,
}: OpenWebhookAuthorizerOptions): Promise<OpenedWebhook> {
  const { path, ...connection } = connectionOf(settings);
  const { timeoutMilliseconds } = settings;
  const transport = httpsTransport({ ...connection, timeoutMilliseconds });
  const condition =
    settings.matchConditions.length === 0
      ? undefined
      : (await import("./match-conditions.ts")).matchConditions(settings.matchConditions);
  const fields = { authorizer: name, webhook: connection.server };
  const report = rateLimitedReport((error: unknown, failures) =>
    log.warn({ ...fields, err: error, failures }, "a webhook authorizer did not answer"),
  );
  const authorize = webhookAuthorizer({
    name,
    settings,
    post: postWebhook({ transport, path, timeoutMilliseconds }),
    condition,
    clock,
    observer,
    maximumPending,
    onFailure: report,
    onChange: ({ isAvailable, error }) =>
      isAvailable
        ? log.info(fields, "a webhook authorizer answers again")
        : log.error({ ...fields, err: error }, "a webhook authorizer fails; it is not asked for a while"),
  });
  return { authorize, close: () => transport.close() };
}

const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

function connectionOf({
  kubeconfig,
  version,
}: WebhookAuthorizerSettings): HttpsTransportOptions & { readonly path: string } {
  if (kubeconfig !== undefined) return { ...readKubeconfig({ file: kubeconfig }).transport, path: "" };
  const host = process.env["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = process.env["KUBERNETES_SERVICE_PORT"] ?? "";
  if (host === "" || port === "") {
    throw new Error(
      "InClusterConfig needs the environment of a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
    );
  }
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caCertificates: readFileSync(`${podFolder}/ca.crt`, "utf8"),
    bearerToken: () => readFileSync(`${podFolder}/token`, "utf8").trim(),
    path: `/apis/authorization.k8s.io/${version}/subjectaccessreviews`,
  };
}
