import type { Clock } from "../../../machinery/api/clock.ts";
import type { Log } from "../../../machinery/logging/log.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import type { OutsideKeyObserver } from "../../../machinery/keys/outside-keys.ts";
import type { AccountSettings } from "../settings.ts";
import { followOperatorKeys } from "./operator-keys.ts";
import type { OpenedOperatorKeys } from "./operator-keys.ts";

interface OpenOperatorKeysOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly observer: OutsideKeyObserver | undefined;
}

/**
 * Opens the keys that settings name: in files, in hardware tokens or at an external signer. Rejects with UsageError for a key that can't be
 * used.
 */
export async function openOperatorKeys(
  { signingKey, verificationKeyFiles }: Pick<AccountSettings, "signingKey" | "verificationKeyFiles">,
  options: OpenOperatorKeysOptions,
): Promise<OpenedOperatorKeys> {
  if ("externalSigner" in signingKey) {
    const { openExternalSigner } = await import("./external-signer/open-external-signer.ts");
    return openExternalSigner({ ...options, socket: signingKey.externalSigner });
  }
  if ("inToken" in signingKey) {
    const { openTokenKeyInToken } = await import("./token-key-in-token.ts");
    const { key, close } = await openTokenKeyInToken(signingKey.inToken, options);
    try {
      const keys = followOperatorKeys({ signingKey: key, verificationKeyFiles }, options);
      return { keys, maximumTokenExpirationSeconds: undefined, close };
    } catch (error) {
      close();
      throw error;
    }
  }
  const signing = "file" in signingKey ? signingKey.file : undefined;
  return {
    keys: followOperatorKeys({ signingKey: signing, verificationKeyFiles }, options),
    maximumTokenExpirationSeconds: undefined,
    close: () => {},
  };
}
