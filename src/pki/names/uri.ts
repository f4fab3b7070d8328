import { parseUrl, UrlFault } from "./parse-url.ts";

/** The result of parsing a URI. `host` is in lower case, without user and port. It is empty when the URI has no host. */
export type ParsedUri =
  | { readonly isValid: true; readonly host: string }
  | { readonly isValid: false; readonly reason: string };

/**
 * Parses an ASCII URI like Go's `url.Parse` and `x509.ParseCertificate`, with the same error messages. Blanks and control characters are
 * refused everywhere. An IPv6 host keeps its brackets.
 */
export function readUri(uri: string): ParsedUri {
  try {
    return { isValid: true, host: hostOf(uri).toLowerCase() };
  } catch (error) {
    if (error instanceof UrlFault) return { isValid: false, reason: error.message };
    throw error;
  }
}

function hostOf(uri: string): string {
  if (/[^!-~]/.test(uri)) throw new UrlFault("invalid character in URL");
  const { host } = parseUrl(uri, { isRequest: false });
  // Like Go's x509, check the unescaped host, also the zone.
  const unescaped = host.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (host !== "" && (unescaped.split(".").includes("") || /[^!-~]/.test(unescaped)))
    throw new UrlFault("invalid domain");
  return host.replace(/:\d*$/, "");
}
