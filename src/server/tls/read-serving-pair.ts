import type { KeyObject } from "node:crypto";
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { KeyPairFiles } from "../../machinery/command-line/settings/flag.ts";
import { readSettingsFile } from "../../machinery/command-line/settings/settings-files.ts";
import type { ServingCertificate } from "../../machinery/http/connections/serving-context.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parsePrivateKeyPem } from "../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";

/** A certificate that a listener can present, with its key. */
interface ServingPair {
  readonly certificate: ServingCertificate;
  /** The certificate, followed by the intermediate certificates in its file. */
  readonly chain: readonly Certificate[];
}

/**
 * Reads a certificate with its key. Throws UsageError, with flag and file, for a file that contains none, and for a certificate and a key
 * that do not belong together, which happens while one of the files is being replaced.
 */
export function readServingPair({ certificateFlag, certificateFile, keyFlag, keyFile }: KeyPairFiles): ServingPair {
  const cert = readSettingsFile(certificateFlag, certificateFile);
  const key = readSettingsFile(keyFlag, keyFile);
  const chain = certificatesIn(cert, { flag: certificateFlag, file: certificateFile });
  const privateKey = keyIn(key, { flag: keyFlag, file: keyFile });
  const flags = [...new Set([certificateFlag, keyFlag])].map((flag) => `--${flag}`).join(", ");
  if (!chain.slice(0, 1).every(({ der }) => new X509Certificate(der).checkPrivateKey(privateKey))) {
    throw new UsageError(
      `${flags}: the key in ${keyFile} does not belong to the first certificate in ${certificateFile}; name the files of one pair`,
    );
  }
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new UsageError(
      `${flags}: ${certificateFile} and ${keyFile} cannot be used for TLS: ${messageOf(cause)}; name another pair`,
      { cause },
    );
  }
  return { certificate: { cert, key }, chain };
}

interface NamedFile {
  readonly flag: string;
  readonly file: string;
}

/** Parses certificates. Throws UsageError when there is none. */
function certificatesIn(pem: string, { flag, file }: NamedFile): readonly Certificate[] {
  const advice = "name a PEM file with the server's certificate and its chain behind it";
  const chain = orPkiError(() => parseCertificatesPem(pem));
  if (chain instanceof PkiError) {
    const message = `--${flag}: ${file} holds a certificate that cannot be used: ${chain.message}; ${advice}`;
    throw new UsageError(message, { cause: chain });
  }
  if (chain.length > 0) return chain;
  throw new UsageError(`--${flag}: ${file} holds no certificate; ${advice}`);
}

function keyIn(pem: string, { flag, file }: NamedFile): KeyObject {
  const key = orPkiError(() => parsePrivateKeyPem(pem));
  if (!(key instanceof PkiError)) return key;
  const message = `--${flag}: ${file} holds no private key that can be read; name a PEM file with a key without a passphrase`;
  throw new UsageError(message, { cause: key });
}
