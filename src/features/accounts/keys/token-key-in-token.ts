import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { OutageReport } from "../../../machinery/logging/outage-report.ts";
import { serviceUnavailable } from "../../../machinery/api/api-error.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { observedSignature } from "../../../machinery/keys/outside-keys.ts";
import type { OutsideKeyObserver } from "../../../machinery/keys/outside-keys.ts";
import { Pkcs11Key } from "../../../machinery/pkcs11/pkcs11-key.ts";
import { keyNameOfUri } from "../../../machinery/pkcs11/pkcs11-uri.ts";
import { importPublicKey } from "../../../pki/keys/public-key.ts";
import { KeyUnavailable } from "../../../pki/keys/signing-key.ts";
import { verificationKeyOf } from "../tokens/token-key.ts";
import type { TokenSigningKey } from "../tokens/token-key.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** Opens a key for signing tokens that is in a PKCS #11 token. Rejects with UsageError when the key can't be used now. */
export async function openTokenKeyInToken(
  uri: string,
  { log, observer }: { readonly log: Pick<Log, "error" | "info">; readonly observer: OutsideKeyObserver | undefined },
): Promise<{ readonly key: TokenSigningKey; close(): void }> {
  try {
    const inToken = await Pkcs11Key.open(uri);
    const named = { provider: "pkcs11", key: keyNameOfUri(uri) } as const;
    const verification = verificationKeyOf(importPublicKey(inToken.publicKey));
    const about = { key: verification.kid };
    const outage = new OutageReport({
      onFailure: (reason) => log.error({ ...about, reason }, "no token is signed"),
      onRecovery: () => log.info(about, "the token key can be used again"),
    });
    const key: TokenSigningKey = {
      ...verification,
      async sign(data) {
        try {
          const signature = await observedSignature({ ...named, observer }, () => inToken.sign(data));
          outage.succeeded();
          return signature;
        } catch (error) {
          if (!(error instanceof KeyUnavailable)) throw error;
          outage.failed(error);
          throw serviceUnavailable(
            "no token can be issued now: the signing key can't be used; the server's log says why",
          );
        }
      },
    };
    return { key, close: () => inToken.close() };
  } catch (cause) {
    throw new UsageError(`--service-account-signing-key-file: ${messageOf(cause)}`, { cause });
  }
}
