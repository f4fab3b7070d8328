import { errorCode, messageOf } from "./thrown-error.ts";

/** The settings of a TLS connection to another server, as a person finds them. */
export interface TlsSettingNames {
  /** Where the trusted CAs are. */
  readonly authorities: string;
  /** Where the client certificate and its key are. Undefined: the connection has none. */
  readonly clientCertificate?: string;
}

/** The text of a failed connection. When TLS failed, it names the setting to look at: the errors of TLS name no file. */
export function tlsFailure(error: unknown, settings: TlsSettingNames): string {
  const message = messageOf(error);
  const wrong = settingsOf({ code: errorCode(error), message }, settings).filter((one) => one !== undefined);
  return wrong.length === 0 ? message : `${message} (check ${wrong.join(", ")})`;
}

function settingsOf(
  { code, message }: { readonly code: string; readonly message: string },
  { authorities, clientCertificate }: TlsSettingNames,
): readonly (string | undefined)[] {
  if (untrusted.has(code)) return [authorities];
  if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH" || refusal.test(message)) return [clientCertificate];
  return code.startsWith("ERR_OSSL_") ? [authorities, clientCertificate] : [];
}

/** Node.js' codes for a certificate whose CA is not among the trusted ones. */
const untrusted: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
]);

/** OpenSSL's words about the alerts of a server that refuses the client certificate, or misses it (RFC 8446 section 6.2). */
const refusal = /\balert (?:.*certificate|unknown ca\b)/;
