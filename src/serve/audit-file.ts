import pino from "pino";
import type { Clock } from "../api/clock.ts";
import type { ServeOptions } from "../cli/serve-flags.ts";
import { UsageError } from "../cli/flag.ts";
import { createAuditLog } from "../server/audit.ts";
import type { AnsweredRequest } from "../server/chain.ts";

/** Appends audit events to the file of `--audit-log-path` (0600), or to standard output. Undefined without the flag. */
export function openAuditLog(
  options: ServeOptions,
  clock: Clock,
): { readonly write: (answered: AnsweredRequest) => void; close(): Promise<void> } | undefined {
  const path = options["audit-log-path"];
  if (path === undefined) return undefined;
  let destination: ReturnType<typeof pino.destination>;
  try {
    // Buffered: a disk that is slow for a moment must not hold up requests.
    destination = pino.destination({ dest: path === "-" ? 1 : path, mode: 0o600, minLength: 4096, sync: false });
  } catch (cause) {
    throw new UsageError(`--audit-log-path: cannot write ${path}`, { cause });
  }
  return {
    write: createAuditLog({ clock, write: (line) => destination.write(`${line}\n`) }),
    close: () =>
      new Promise((resolve) => {
        destination.once("close", resolve);
        destination.end();
      }),
  };
}
