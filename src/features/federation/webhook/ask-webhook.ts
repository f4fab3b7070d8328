import { jsonFields } from "../../../machinery/api/json-object.ts";
import { postWebhook } from "../../../machinery/client/post-webhook.ts";
import type { PostWebhookOptions } from "../../../machinery/client/post-webhook.ts";
import type { AskWebhook, WebhookAnswer } from "./webhook-tokens.ts";

export interface AskWebhookOptions extends Pick<PostWebhookOptions, "transport" | "schedule"> {
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

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** The `status` of a TokenReview. Throws an Error when it is not one, or names no user. */
function answerOf({ kind, status }: Readonly<Record<string, unknown>>): WebhookAnswer {
  if (kind !== "TokenReview") throw new Error("its answer is not a TokenReview");
  const { authenticated, user, audiences, error } = jsonFields(status);
  const { username, uid, groups, extra } = jsonFields(user);
  if (authenticated === true && textOf(username) === "") throw new Error("its answer names no user");
  return {
    isAuthenticated: authenticated === true,
    error: textOf(error),
    audiences: textsOf(audiences),
    user: {
      username: textOf(username),
      ...(textOf(uid) !== "" && { uid: textOf(uid) }),
      groups: textsOf(groups),
      extra: Object.fromEntries(Object.entries(jsonFields(extra)).map(([key, values]) => [key, textsOf(values)])),
    },
  };
}
