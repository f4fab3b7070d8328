import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import type { AuthorizationConnection, ConnectedAuthorization } from "./follow-authorizers.ts";

export type { AuthorizationObserver, ConnectedAuthorization } from "./follow-authorizers.ts";

/**
 * Connects the configured authorizers, including webhooks, in their order. Loads only the code of configured ones. Rejects with UsageError
 * for a file that cannot be used.
 */
export async function connectAuthorization(connection: AuthorizationConnection): Promise<ConnectedAuthorization> {
  const { settings } = connection;
  if (settings.type === "built in") return { authorizers: () => settings.authorizers, close() {} };
  const { followAuthorizers } = await import("./follow-authorizers.ts");
  if (settings.type === "webhook") {
    const { authorizers, kubeconfig: file } = settings;
    return followAuthorizers({ flag: "authorization-webhook-config-file", file, read: () => authorizers }, connection);
  }
  const { file } = settings;
  const { parseAuthorizationConfiguration } = await import("./parse-authorization-configuration.ts");
  const flag = "authorization-config";
  const read = () => parseSettingsFile({ flag, file, read: readFollowedFile }, parseAuthorizationConfiguration);
  return followAuthorizers({ flag, file, read }, connection);
}
