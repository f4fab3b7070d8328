import { readFileSync } from "node:fs";
import type { Clock } from "../../../machinery/api/clock.ts";
import { urlHost } from "../../../machinery/api/addresses/url-host.ts";
import { rateLimitedReport } from "../../../machinery/logging/rate-limited-report.ts";
import type { Authorizer } from "../../../machinery/authorization/authorizer.ts";
import { httpsTransport } from "../../../machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../../machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../../machinery/client/kubeconfig/kubeconfig.ts";
import { postWebhook } from "../../../machinery/client/webhooks/post-webhook.ts";
import type { WebhookAuthorizerSettings } from "../settings.ts";
import { webhookAuthorizer } from "./webhook-authorizer.ts";
import type { WebhookObserver } from "./webhook-authorizer.ts";
import type { Log } from "../../../machinery/logging/log.ts";

interface OpenWebhookAuthorizerOptions {
  readonly name: string;
  readonly settings: WebhookAuthorizerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly maximumPending: number;
  readonly observer: WebhookObserver;
}

export interface OpenedWebhook {
  /** The kubeconfig and the files that it names. */
  readonly files: readonly string[];
  readonly authorize: Authorizer;
  close(): void;
}

/** Opens a webhook without calling it. Throws an Error for a kubeconfig, or files of a Pod, that cannot be used. */
export function openWebhookAuthorizer({
  name,
  settings,
  clock,
  log,
  maximumPending,
  observer,
}: OpenWebhookAuthorizerOptions): OpenedWebhook {
  const { path, files, transport: connection } = connectionOf(settings);
  const { timeoutMilliseconds } = settings;
  const transport = httpsTransport({ ...connection, timeoutMilliseconds });
  const fields = { authorizer: name, webhook: connection.server };
  const report = rateLimitedReport((error: unknown, failures) =>
    log.warn({ ...fields, err: error, failures }, "a webhook authorizer did not answer"),
  );
  const authorize = webhookAuthorizer({
    name,
    settings,
    post: postWebhook({ transport, path, timeoutMilliseconds }),
    clock,
    observer,
    maximumPending,
    onFailure: report,
    onChange: ({ isAvailable, error }) =>
      isAvailable
        ? log.info(fields, "a webhook authorizer answers again")
        : log.error(
            { ...fields, err: error },
            "a webhook authorizer fails; while many users get no answers, nobody waits for it",
          ),
  });
  return { files, authorize, close: () => transport.close() };
}

const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

interface Connection {
  readonly transport: HttpsTransportOptions;
  readonly files: readonly string[];
  /** The path of the webhook, to be appended to the server's URL. */
  readonly path: string;
}

function connectionOf({ kubeconfig, version }: WebhookAuthorizerSettings): Connection {
  if (kubeconfig !== undefined) {
    return { ...readKubeconfig({ file: kubeconfig, isFollowed: true, hasFlags: false }), path: "" };
  }
  const host = process.env["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = process.env["KUBERNETES_SERVICE_PORT"] ?? "";
  if (host === "" || port === "") {
    throw new Error(
      "InClusterConfig needs the environment of a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
    );
  }
  const authorities = `${podFolder}/ca.crt`;
  return {
    transport: {
      server: `https://${urlHost(host)}:${port}`,
      caCertificates: readFileSync(authorities, "utf8"),
      bearerToken: () => readFileSync(`${podFolder}/token`, "utf8").trim(),
    },
    files: [authorities],
    path: `/apis/authorization.k8s.io/${version}/subjectaccessreviews`,
  };
}
