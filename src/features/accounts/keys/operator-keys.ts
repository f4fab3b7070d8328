import type { Logger } from "pino";
import { periodically } from "../../../machinery/api/periodically.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSigningKey, parseVerificationKeys } from "../tokens/token-key.ts";
import type { SigningKey, VerificationKey } from "../tokens/token-key.ts";

/** The keys of the files that flags name. They are the operator's: only the operator replaces them. */
export interface OperatorKeys {
  /** Of `--service-account-signing-key-file`. */
  readonly signing: SigningKey | undefined;
  /** Of `--service-account-key-file`. */
  readonly verification: readonly VerificationKey[];
}

export interface OperatorKeyFiles {
  readonly signingKeyFile: string | undefined;
  readonly verificationKeyFiles: readonly string[];
}

export interface FollowedOperatorKeys {
  /** The same object until a file changes. */
  current(): OperatorKeys;
  /** Calls `listener` after each change. */
  onChange(listener: () => void): void;
  stop(): void;
}

/** How often the files are looked at. */
const lookMilliseconds = 1_000;

/**
 * Reads the files, and again when they change. While one of them can't be used, all keys stay as they were, and the
 * error is logged once. Throws UsageError for files that can't be used at first.
 */
export function followOperatorKeys(
  { signingKeyFile, verificationKeyFiles }: OperatorKeyFiles,
  log: Pick<Logger, "info" | "error">,
): FollowedOperatorKeys {
  const listeners = new Set<() => void>();
  const files = [...(signingKeyFile === undefined ? [] : [signingKeyFile]), ...verificationKeyFiles];
  const read = followFiles({
    files,
    load: (): OperatorKeys => ({
      signing:
        signingKeyFile === undefined
          ? undefined
          : parseSettingsFile("service-account-signing-key-file", signingKeyFile, parseSigningKey, readFollowedFile),
      verification: verificationKeyFiles.flatMap((file) =>
        parseSettingsFile("service-account-key-file", file, parseVerificationKeys, readFollowedFile),
      ),
    }),
    onFailure: (error) =>
      log.error(
        { error: error instanceof Error ? error.message : String(error) },
        "a file with token keys can't be used; the previous keys stay in use",
      ),
  });
  let current = read();
  const look = (): void => {
    const next = read();
    if (next === current) return;
    const before = current;
    current = next;
    log.info({ signing: next.signing?.kid, verifying: next.verification.map(({ kid }) => kid) }, "read the token keys");
    if (before.signing !== undefined && !isPublished(before.signing, next)) {
      log.error(
        { key: before.signing.kid },
        "tokens of the previous signing key are refused now: add it to a file of --service-account-key-file",
      );
    }
    for (const listener of listeners) listener();
  };
  const looks =
    files.length === 0
      ? undefined
      : periodically({
          milliseconds: lookMilliseconds,
          task: look,
          onFailure: (error) => log.error({ err: error }, "could not look at the files with token keys"),
        });
  return {
    current: () => current,
    onChange: (listener) => listeners.add(listener),
    stop: () => looks?.stop(),
  };
}

const isPublished = ({ kid }: SigningKey, { signing, verification }: OperatorKeys): boolean =>
  [...(signing === undefined ? [] : [signing]), ...verification].some((key) => key.kid === kid);
