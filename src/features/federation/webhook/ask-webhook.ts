import { systemSchedule } from "../../../machinery/api/schedule.ts";
import type { Schedule } from "../../../machinery/api/schedule.ts";
import type { Transport } from "../../../machinery/client/transport.ts";
import type { AskWebhook, WebhookAnswer } from "./webhook-tokens.ts";

export interface AskWebhookOptions {
  readonly transport: Transport;
  readonly version: "v1" | "v1beta1";
  readonly schedule?: Schedule;
}

const timeoutMilliseconds = 10_000;
const largestAnswerBytes = 1024 * 1024;
/** Upstream has five attempts; three end within the time that a client waits. */
const pausesMilliseconds = [250, 500];

/** A fault that may pass: the connection, or a status that says so. */
class PassingFault extends Error {}

/**
 * Posts a TokenReview to the URL of the kubeconfig. Tries again after a failed connection, 429 and 5xx, at most twice, with
 * random pauses, and within 10 s in all. Rejects with an Error without the token.
 */
export const askWebhook =
  ({ transport, version, schedule = systemSchedule }: AskWebhookOptions): AskWebhook =>
  async (token, audiences) => {
    const body = JSON.stringify({
      apiVersion: `authentication.k8s.io/${version}`,
      kind: "TokenReview",
      spec: { token, audiences },
    });
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    for (const pause of pausesMilliseconds) {
      try {
        return await post(transport, body, signal);
      } catch (error) {
        if (!(error instanceof PassingFault) || signal.aborted) throw error;
        await new Promise<void>((resolve) => schedule(resolve, pause * (0.5 + Math.random())));
      }
    }
    return post(transport, body, signal);
  };

async function post(transport: Transport, body: string, signal: AbortSignal): Promise<WebhookAnswer> {
  let response;
  try {
    const headers = { "content-type": "application/json", accept: "application/json" };
    response = await transport.send({ method: "POST", path: "", headers, body, signal });
  } catch (cause) {
    throw new PassingFault(cause instanceof Error ? cause.message : "no answer", { cause });
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > largestAnswerBytes) throw new Error("its answer is larger than 1 MiB");
    chunks.push(chunk);
  }
  const { status } = response;
  if (status === 429 || status >= 500) throw new PassingFault(`it answered ${status}`);
  if (status !== 200 && status !== 201) throw new Error(`it answered ${status}`);
  return answerOf(Buffer.concat(chunks).toString("utf8"));
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** The `status` of a TokenReview. Throws an Error for what is none, or names no user. */
function answerOf(text: string): WebhookAnswer {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error("its answer is not JSON", { cause });
  }
  const { kind, status } = fieldsOf(parsed);
  if (kind !== "TokenReview") throw new Error("its answer is no TokenReview");
  const { authenticated, user, audiences, error } = fieldsOf(status);
  const { username, uid, groups, extra } = fieldsOf(user);
  if (authenticated === true && textOf(username) === "") throw new Error("its answer names no user");
  return {
    isAuthenticated: authenticated === true,
    error: textOf(error),
    audiences: textsOf(audiences),
    user: {
      username: textOf(username),
      ...(textOf(uid) !== "" && { uid: textOf(uid) }),
      groups: textsOf(groups),
      extra: Object.fromEntries(Object.entries(fieldsOf(extra)).map(([key, values]) => [key, textsOf(values)])),
    },
  };
}
