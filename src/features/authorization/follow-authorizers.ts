import { periodically } from "../../machinery/api/periodically.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings-files.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { openAuthorizers } from "./open-authorizers.ts";
import type { AuthorizationConnection, ConnectedAuthorization, OpenedAuthorizers } from "./open-authorizers.ts";
import { parseAuthorizationConfiguration } from "./parse-authorization-configuration.ts";

const flag = "authorization-config";
const pollMilliseconds = 1000;
/** Requests that have begun are decided by the webhooks that they asked. */
const retirementMilliseconds = 60_000;

export interface FollowedAuthorizers extends ConnectedAuthorization {
  /** Reads the file again if it has changed. */
  look(): Promise<void>;
}

/**
 * Opens the authorizers of a file and follows it: when it becomes invalid, the old authorizers stay in force and the error
 * is logged once. Rejects with UsageError for a file that is invalid at the start.
 */
export async function followAuthorizers(
  file: string,
  { log, observer, ...connection }: AuthorizationConnection,
): Promise<FollowedAuthorizers> {
  const open = async (text: string): Promise<OpenedAuthorizers> => {
    const configured = parseSettingsFile(flag, file, parseAuthorizationConfiguration, () => text);
    try {
      return await openAuthorizers(configured, { ...connection, log, observer });
    } catch (cause) {
      throw new UsageError(`--${flag}: ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  };
  let seen = readFollowedFile(flag, file);
  let current = await open(seen);
  let failed: string | undefined;
  const look = async (): Promise<void> => {
    let text: string | undefined;
    try {
      text = readFollowedFile(flag, file);
      if (text === seen) failed = undefined;
      if (text === seen || text === failed) return;
      const opened = await open(text);
      const retired = current;
      current = opened;
      setTimeout(() => retired.close(), retirementMilliseconds).unref();
      seen = text;
      failed = undefined;
      observer.onReloaded("success");
      const authorizers = opened.authorizers.map(({ type, name }) => `${type} ${name}`);
      log.info({ file, authorizers }, "reloaded the authorization configuration");
    } catch (error) {
      const failure = text ?? String(error);
      if (failure === failed) return;
      failed = failure;
      observer.onReloaded("failure");
      log.error(
        { file, error: error instanceof Error ? error.message : String(error) },
        "the authorization configuration is invalid; the previous one stays in force",
      );
    }
  };
  const polling = periodically({
    milliseconds: pollMilliseconds,
    task: look,
    onFailure: (error) => log.error({ err: error }, "could not look after the authorization configuration"),
  });
  return {
    authorizers: () => current.authorizers,
    look,
    close() {
      polling.stop();
      current.close();
    },
  };
}
