import type { Logger } from "pino";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";
import type { FollowedFiles } from "../../../machinery/files/followed-files.ts";
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
}

export interface FollowOperatorKeysOptions {
  readonly followed: FollowedFiles;
  readonly log: Pick<Logger, "error">;
}

/**
 * Reads the files, and again when they change. While one of them can't be used, all keys stay as they were. Throws
 * UsageError for files that can't be used at first.
 */
export function followOperatorKeys(
  { signingKeyFile, verificationKeyFiles }: OperatorKeyFiles,
  { followed, log }: FollowOperatorKeysOptions,
): FollowedOperatorKeys {
  const listeners = new Set<() => void>();
  const files = [...(signingKeyFile === undefined ? [] : [signingKeyFile]), ...verificationKeyFiles];
  const load = (): OperatorKeys => ({
    signing:
      signingKeyFile === undefined
        ? undefined
        : parseSettingsFile("service-account-signing-key-file", signingKeyFile, parseSigningKey, readFollowedFile),
    verification: verificationKeyFiles.flatMap((file) =>
      parseSettingsFile("service-account-key-file", file, parseVerificationKeys, readFollowedFile),
    ),
  });
  let current = load();
  followed.follow({
    setting: signingKeyFile === undefined ? "service-account-key-file" : "service-account-signing-key-file",
    files: () => files,
    load,
    onChange(next) {
      const before = current;
      current = next;
      if (before.signing !== undefined && !isPublished(before.signing, next)) {
        log.error(
          { key: before.signing.kid },
          "tokens of the previous signing key are refused now: add it to a file of --service-account-key-file",
        );
      }
      for (const listener of listeners) listener();
    },
    describe: ({ signing, verification }) => ({ signing: signing?.kid, verifying: verification.map(({ kid }) => kid) }),
  });
  return { current: () => current, onChange: (listener) => listeners.add(listener) };
}

const isPublished = ({ kid }: SigningKey, { signing, verification }: OperatorKeys): boolean =>
  [...(signing === undefined ? [] : [signing]), ...verification].some((key) => key.kid === kid);
