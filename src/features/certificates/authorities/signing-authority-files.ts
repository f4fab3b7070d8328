import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import type { KeyPairFiles } from "../../../machinery/command-line/settings/flag.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings/settings-files.ts";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import { validityFault } from "../../../pki/certificates/authority-path.ts";
import { observedSignature } from "../../../machinery/keys/outside-keys.ts";
import type { OutsideKeyObserver } from "../../../machinery/keys/outside-keys.ts";
import { keyInToken } from "../../../machinery/pkcs11/key-in-token.ts";
import { isPkcs11Uri, keyNameOfUri, parsePkcs11Uri } from "../../../machinery/pkcs11/pkcs11-uri.ts";
import { parsePrivateKeyPem } from "../../../pki/keys/keys.ts";
import type { PublicKeyInfo } from "../../../pki/keys/public-key.ts";
import type { SigningKey } from "../../../pki/keys/signing-key.ts";
import { loadSigningAuthority, loadSigningAuthorityElsewhere } from "./signing-authority.ts";
import type { SigningAuthority } from "./signing-authority.ts";

export interface SigningAuthorityFilesOptions {
  readonly followed: FollowedFiles;
  readonly clock: Clock;
  /** Receives each use of a key in a PKCS #11 token. Undefined: no metrics. */
  readonly observer: OutsideKeyObserver | undefined;
}

/**
 * Reads a CA from its files, and again when they change. The returned function returns the last pair that matched. Throws UsageError at the
 * start for files that are not a CA. Later, a new CA that is not valid at present does not replace the previous one. At the start such a CA
 * is used, with a warning in the log, because everything that this CA does not sign still works.
 */
export function openSigningAuthority(
  files: KeyPairFiles,
  { followed, clock, observer }: SigningAuthorityFilesOptions,
): () => SigningAuthority {
  const { certificateFlag, certificateFile, keyFlag, keyFile } = files;
  const isElsewhere = isPkcs11Uri(keyFile);
  if (isElsewhere) checkUri(keyFlag, keyFile);
  let inToken: SigningKey | undefined;
  const observed = ({ publicKey, sign }: SigningKey): SigningKey => ({
    publicKey,
    sign: (data) =>
      observedSignature({ provider: "pkcs11", key: keyNameOfUri(keyFile), observer }, async () => sign(data)),
  });
  /** Returns the same key while the CA keeps its public key, because the key has a session with the token. */
  const keyElsewhere = (publicKey: PublicKeyInfo): SigningKey => {
    if (inToken?.publicKey.spki.equals(publicKey.spki) !== true) inToken = observed(keyInToken(keyFile, publicKey));
    return inToken;
  };
  const faultOf = ({ path }: SigningAuthority): string | undefined => {
    const fault = validityFault(path, clock.now());
    return fault && `--${certificateFlag}: ${certificateFile}: ${fault}`;
  };
  return followed.follow({
    setting: certificateFlag,
    files: () => (isElsewhere ? [certificateFile] : [certificateFile, keyFile]),
    load() {
      const certificate = readFollowedFile(certificateFlag, certificateFile);
      const privateKey = isElsewhere
        ? undefined
        : parseSettingsFile({ flag: keyFlag, file: keyFile, read: readFollowedFile }, withPrivateKey);
      return parseSettingsFile(
        { flag: certificateFlag, file: certificateFile, read: () => certificate },
        (): SigningAuthority =>
          privateKey === undefined
            ? loadSigningAuthorityElsewhere(certificate, keyElsewhere)
            : loadSigningAuthority({ certificate, privateKey }),
      );
    },
    onChange(next) {
      const fault = faultOf(next);
      if (fault !== undefined) throw new UsageError(fault);
    },
    warningOf: faultOf,
  });
}

/** Throws UsageError for a URI that can't be used. Does not quote the URI: it may have a PIN. */
function checkUri(flag: string, uri: string): void {
  try {
    parsePkcs11Uri(uri);
  } catch (cause) {
    throw new UsageError(`--${flag}: ${messageOf(cause)}`, { cause });
  }
}

/** Returns the text. Throws PkiError when it has no readable private key. */
function withPrivateKey(pem: string): string {
  parsePrivateKeyPem(pem);
  return pem;
}
