import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import { tokenSigner } from "../tokens/json-web-token.ts";
import { parseTokenSigningKey, parseVerificationKeys } from "../tokens/token-key.ts";
import type { TokenSigningKey, VerificationKey } from "../tokens/token-key.ts";
import type { TokenSigner } from "./token-keys.ts";
import type { OperatorKeyRecord } from "./key-ring.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** The keys that flags name, or that an external signer has. They are the operator's: only the operator replaces them. */
export interface OperatorKeys {
  /** The signer that is used instead of the keys in the store. */
  readonly signing: OperatorSigner | undefined;
  /** Every key that verifies tokens. The signing key is the first. */
  readonly verification: readonly VerificationKey[];
  /** How long the keys stay unchanged, in seconds. Undefined: unknown. */
  readonly cacheSeconds?: number;
}

interface OperatorSigner {
  readonly signer: TokenSigner;
  /** The description of the key in the store's record and in commands. */
  readonly record: OperatorKeyRecord;
}

/** The operator's keys, which may change. `current` returns the same object until they change. */
export interface FollowedOperatorKeys {
  current(): OperatorKeys;
  /** Calls `listener` after each change. */
  onChange(listener: () => void): void;
  /** See `TokenKeys.learn`. */
  learn?(kid: string): Promise<void> | undefined;
}

export interface OpenedOperatorKeys {
  readonly keys: FollowedOperatorKeys;
  /** The longest lifetime that the signer accepts. Undefined: it has no limit. */
  readonly maximumTokenExpirationSeconds: number | undefined;
  close(): void;
}

interface OperatorKeyFiles {
  /** A file, or an open key that never changes. */
  readonly signingKey: string | TokenSigningKey | undefined;
  readonly verificationKeyFiles: readonly string[];
}

interface FollowOperatorKeysOptions {
  readonly followed: FollowedFiles;
  readonly log: Pick<Log, "error">;
}

/**
 * Reads the files at once, and again when they change. While a changed file can't be used, all keys stay the same. Throws UsageError when a
 * file can't be used at first.
 */
export function followOperatorKeys(
  { signingKey, verificationKeyFiles }: OperatorKeyFiles,
  { followed, log }: FollowOperatorKeysOptions,
): FollowedOperatorKeys {
  const listeners = new Set<() => void>();
  const isFile = typeof signingKey === "string";
  const files = [...(isFile ? [signingKey] : []), ...verificationKeyFiles];
  const load = (): OperatorKeys => {
    const signing = isFile
      ? parseSettingsFile(
          { flag: "service-account-signing-key-file", file: signingKey, read: readFollowedFile },
          parseTokenSigningKey,
        )
      : signingKey;
    const others = verificationKeyFiles.flatMap((file) =>
      parseSettingsFile({ flag: "service-account-key-file", file, read: readFollowedFile }, parseVerificationKeys),
    );
    return {
      signing: signing && operatorSigner(signing),
      verification: signing === undefined ? others : [signing, ...others],
    };
  };
  let current: OperatorKeys = followed.follow({
    setting: isFile ? "service-account-signing-key-file" : "service-account-key-file",
    files: () => files,
    load,
    onChange(next) {
      const before = current;
      current = next;
      const [signedBefore] = before.signing === undefined ? [] : before.verification;
      if (signedBefore !== undefined && next.verification.every(({ kid }) => kid !== signedBefore.kid)) {
        log.error(
          { key: signedBefore.kid },
          "tokens of the previous signing key are refused now: add it to a file of --service-account-key-file",
        );
      }
      for (const listener of listeners) listener();
    },
    describe: ({ signing, verification }) => {
      const ids = verification.map(({ kid }) => kid);
      return signing === undefined ? { verifying: ids } : { signing: ids[0], verifying: ids.slice(1) };
    },
  })();
  return { current: () => current, onChange: (listener) => listeners.add(listener) };
}

const operatorSigner = (key: TokenSigningKey): OperatorSigner => ({
  signer: tokenSigner(key),
  record: { kid: key.kid, algorithm: key.algorithm },
});
