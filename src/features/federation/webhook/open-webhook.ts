import { messageOf } from "../../../machinery/api/thrown-error.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { VerifyToken } from "../../../machinery/authentication/token-authentication.ts";
import { httpsTransport } from "../../../machinery/client/https/https-transport.ts";
import { rateLimitedReport } from "../../../machinery/logging/rate-limited-report.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import { readSettingsKubeconfig } from "../../../machinery/command-line/settings/settings-kubeconfig.ts";
import type { WebhookSettings } from "../settings.ts";
import { webhookTokens } from "./webhook-tokens.ts";
import type { AskWebhook, WebhookAnswer } from "./webhook-tokens.ts";
import { compileDecoder } from "../../../machinery/schema/compile-decoder.ts";
import { tokenReviewSchema } from "../../accounts/index.ts";
import type { TokenReview } from "../../accounts/index.ts";
import { UnusableAnswer } from "../../../machinery/client/webhooks/post-json.ts";
import { postWebhook } from "../../../machinery/client/webhooks/post-webhook.ts";
import type { PostWebhookOptions } from "../../../machinery/client/webhooks/post-webhook.ts";
import type { Log } from "../../../machinery/logging/log.ts";

const flag = "authentication-token-webhook-config-file";

interface OpenWebhookOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly apiAudiences: readonly string[];
  readonly ownIssuers: readonly string[];
}

/** The opened webhook of one version of the kubeconfig. */
interface OpenedVersion {
  readonly webhook: string;
  /** The kubeconfig and the files that it names. */
  readonly files: readonly string[];
  readonly verify: VerifyToken;
  close(): void;
}

/** How long a replaced webhook stays open: its requests have ended by then. */
const closingMilliseconds = 15_000;

/** Opens the webhook of a kubeconfig, without calling it, and follows the kubeconfig. Throws UsageError for a file that cannot be used. */
export function openWebhook(
  settings: WebhookSettings,
  options: OpenWebhookOptions,
): { readonly verify: VerifyToken; close(): void } {
  const current = options.followed.follow<OpenedVersion>({
    setting: flag,
    files: (opened) => opened?.files ?? [settings.file],
    load: () => openVersion(settings, options),
    retirement: { milliseconds: closingMilliseconds, close: (opened) => opened.close() },
    describe: ({ webhook }) => ({ webhook }),
  });
  return { verify: (token, check) => current().verify(token, check), close: () => current().close() };
}

function openVersion(
  { file, cacheMilliseconds, version }: WebhookSettings,
  { log, ...options }: OpenWebhookOptions,
): OpenedVersion {
  const { transport: connection, files } = readSettingsKubeconfig(flag, file);
  const transport = httpsTransport({ ...connection, timeoutMilliseconds });
  const webhook = connection.server;
  const ask = askWebhook({ transport, version });
  const report = rateLimitedReport((error: unknown, failures) =>
    log.warn({ webhook, err: error, failures }, "the webhook that checks tokens gave no answer that can be used"),
  );
  const verify = webhookTokens({
    ...options,
    ask: (token, audiences) =>
      ask(token, audiences).catch((error: unknown) => {
        report(error);
        throw error;
      }),
    cacheMilliseconds,
    onChange: ({ isAvailable, error }) =>
      isAvailable
        ? log.info({ webhook }, "the webhook that checks tokens answers again")
        : log.error(
            { webhook, err: error },
            "the webhook that checks tokens fails; tokens that get no answer are refused",
          ),
  });
  return { webhook, files, verify, close: () => transport.close() };
}

interface AskWebhookOptions extends Pick<PostWebhookOptions, "transport" | "schedule"> {
  readonly version: "v1" | "v1beta1";
}

const timeoutMilliseconds = 10_000;

/** Posts a TokenReview to the URL of the kubeconfig, within 10 s in all. Rejects with an Error without the token. */
export function askWebhook({ version, ...connection }: AskWebhookOptions): AskWebhook {
  const post = postWebhook({ ...connection, timeoutMilliseconds });
  return async (token, audiences) =>
    answerOf(
      await post({
        apiVersion: `authentication.k8s.io/${version}`,
        kind: "TokenReview",
        spec: { token, audiences },
      }),
    );
}

const decode = compileDecoder(tokenReviewSchema);

/** The `status` of a TokenReview. Throws UnusableAnswer when it is not one, or names no user. */
function answerOf(answer: Readonly<Record<string, unknown>>): WebhookAnswer {
  if (answer["kind"] !== "TokenReview") throw new UnusableAnswer("its answer is not a TokenReview");
  const { authenticated = false, user, audiences = [], error = "" } = statusOf(answer);
  const { username = "", uid = "", groups = [], extra = {} } = user;
  if (authenticated && username === "") throw new UnusableAnswer("its answer names no user");
  return {
    isAuthenticated: authenticated,
    error,
    audiences,
    user: {
      username,
      ...(uid !== "" && { uid }),
      groups,
      // Like Go's decoder, the schema's decoder leaves null in place of a list.
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...(values ?? [])]])),
    },
  };
}

/** Decodes the status. Throws UnusableAnswer: audiences or groups that cannot be decoded must not count as none. */
function statusOf(answer: Readonly<Record<string, unknown>>): TokenReview["status"] {
  try {
    return decode(answer).value.status;
  } catch (cause) {
    throw new UnusableAnswer(`its answer is not a TokenReview: ${messageOf(cause)}`, { cause });
  }
}
