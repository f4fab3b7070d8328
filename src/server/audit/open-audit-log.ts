import { join } from "node:path";
import type { Log } from "../../machinery/logging/log.ts";
import { monotonicClock } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { rateLimitedReport } from "../../machinery/logging/rate-limited-report.ts";
import { ownChainKey, readChainKey, writePublicKey } from "../../machinery/audit/chain/chain-key.ts";
import { ChainLinks } from "../../machinery/audit/chain/chain-links.ts";
import { chainWriters } from "../../machinery/audit/chain/chain-writers.ts";
import type { LineTarget } from "../../machinery/audit/event-queue.ts";
import { fileTarget } from "../../machinery/audit/file-target.ts";
import type { FileChain } from "../../machinery/audit/file-target.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import type { AuditLogSettings } from "./audit-settings.ts";
import { openAuditBackend } from "./open-audit-backend.ts";
import type { AuditBackend } from "./open-audit-backend.ts";

interface AuditLogOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens the backend that writes events to a file. Throws UsageError for a file that cannot be used. */
export function openAuditLog(settings: AuditLogSettings, options: AuditLogOptions): AuditBackend {
  const { path, chain, format, backend } = settings;
  const { dataDirectory, clock, log } = options;
  const onTidyFailure = rateLimitedReport<unknown>((error) =>
    log.error({ path, err: error }, "could not compress or remove old audit logs"),
  );
  let target: LineTarget;
  try {
    target = fileTarget({
      ...settings,
      lockFile: join(dataDirectory, "audit-log.lock"),
      tidyLockFile: join(dataDirectory, "audit-log-backups.lock"),
      chain: chain && openChain(chain, options),
      clock,
      monotonic: monotonicClock,
      onTidyFailure,
    });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`--audit-log-path: cannot write ${path}: ${fileFailureReason(cause)}`, { cause });
  }
  return openAuditBackend({
    name: "log",
    target,
    backend,
    sink: { format, hasAnnotations: chain !== undefined },
    afterFailure: "retry",
    where: () => ({ path }),
    log,
  });
}

function openChain(
  { keyFile, checkpointMilliseconds }: NonNullable<AuditLogSettings["chain"]>,
  { dataDirectory, clock, log }: AuditLogOptions,
): FileChain {
  const writers = chainWriters(join(dataDirectory, "audit-log-writers.lock"));
  const checkpointFile = join(dataDirectory, "audit-log.checkpoint");
  try {
    const privateKey =
      keyFile === undefined ? ownChainKey(join(dataDirectory, "audit-log.key")) : readChainKey(keyFile);
    writePublicKey(join(dataDirectory, "audit-log.pub"), privateKey);
    return {
      checkpointMilliseconds,
      links: new ChainLinks({
        privateKey,
        checkpointFile,
        checkpointMilliseconds,
        writers,
        now: () => clock.now(),
        onCut: (cut) =>
          log.error(
            cut,
            "the audit log lacks lines that were written: it was changed; it is moved away, and a new file begins",
          ),
        onNotKept: rateLimitedReport<unknown>((error) =>
          log.error(
            { file: checkpointFile, reason: fileFailureReason(error) },
            "cannot keep the newest checkpoint of the audit log: nobody would find that lines after an older one were cut off; make room for " +
              "the file, and let the server write it",
          ),
        ),
      }),
    };
  } catch (cause) {
    if (!(cause instanceof UnusableFile)) throw cause;
    throw new UsageError(`--audit-log-chain-key-file: ${cause.message}`, { cause });
  }
}
