import { UsageError } from "../../machinery/command-line/flag.ts";
import type { Feature } from "../../machinery/feature.ts";
import { openAuthorizers } from "./open-authorizers.ts";
import type { AuthorizationConnection, ConnectedAuthorization } from "./open-authorizers.ts";
import { authorizationFlags } from "./settings.ts";

export type { AuthorizationObserver, ConnectedAuthorization } from "./open-authorizers.ts";

/** Who is asked whether a request is allowed, and in which order; webhooks that are asked. */
export const authorizationFeature = {
  name: "authorization",
  kinds: [],
  flags: authorizationFlags,
} as const satisfies Feature;

/** Loads only what is configured. Rejects with UsageError for a file that cannot be used. */
export async function connectAuthorization(connection: AuthorizationConnection): Promise<ConnectedAuthorization> {
  const { settings, ...options } = connection;
  if (settings.type === "file") {
    const { followAuthorizers } = await import("./follow-authorizers.ts");
    return followAuthorizers(settings.file, connection);
  }
  const opened = await openAuthorizers(settings.authorizers, options).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--authorization-webhook-config-file: ${reason}`, { cause });
  });
  return { authorizers: () => opened.authorizers, close: () => opened.close() };
}
