import { parseIpAddress } from "./ip-address.ts";

/** The host of a URI in lower case, without user and port. It is empty when the URI has no host. */
export type ParsedUri =
  | { readonly isValid: true; readonly host: string }
  | { readonly isValid: false; readonly reason: string };

class UriFault extends Error {}

/**
 * Parses an ASCII URI like Go's `url.Parse` and `x509.ParseCertificate` (RFC 3986, with the zones of RFC 6874), with
 * the same error messages. Blanks and control characters are refused everywhere. An IPv6 host keeps its brackets.
 */
export function readUri(uri: string): ParsedUri {
  try {
    return { isValid: true, host: hostOf(uri).toLowerCase() };
  } catch (error) {
    if (error instanceof UriFault) return { isValid: false, reason: error.message };
    throw error;
  }
}

function hostOf(uri: string): string {
  if (/[^!-~]/.test(uri)) throw new UriFault("invalid character in URL");
  const [whole, fragment] = cut(uri, "#");
  checkEscapes(fragment);
  if (whole === "*") return "";
  if (whole.startsWith(":")) throw new UriFault("missing protocol scheme");
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(whole)?.[0] ?? "";
  const [rest] = cut(scheme === "" ? whole : whole.slice(scheme.length + 1), "?");
  if (!rest.startsWith("/")) {
    // The rest of a URI is opaque when no slash follows the scheme.
    if (scheme !== "") return "";
    if (cut(rest, "/")[0].includes(":")) throw new UriFault("first path segment in URL cannot contain colon");
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"));
  if (!hasAuthority) {
    checkEscapes(rest);
    return "";
  }
  const [authority, path] = cut(rest.slice(2), "/");
  const host = authorityHost(authority, scheme.toLowerCase());
  checkEscapes(path);
  return host;
}

/** The text before and after the first separator. */
function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function checkEscapes(text: string): void {
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(text)?.[0];
  if (bad !== undefined) throw new UriFault(`invalid URL escape ${JSON.stringify(bad)}`);
}

function authorityHost(authority: string, scheme: string): string {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new UriFault("net/url: invalid userinfo");
  checkEscapes(user);
  const hostAndPort = authority.slice(at + 1);
  const bracket = hostAndPort.lastIndexOf("[");
  if (bracket > 0) throw new UriFault("invalid IP-literal");
  return bracket === 0 ? bracketedHost(hostAndPort) : namedHost(hostAndPort, scheme);
}

/** A zone may also escape characters that need no escape (RFC 6874 2). */
const escapedUnreserved = /%(?:[46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9]|2[DdEe]|5[Ff]|7[Ee])/g;

function bracketedHost(hostAndPort: string): string {
  const close = hostAndPort.lastIndexOf("]");
  if (close < 0) throw new UriFault("missing ']' in host");
  checkPort(hostAndPort.slice(close + 1));
  const [address, zone] = cut(hostAndPort.slice(1, close), "%25");
  if (zone !== "") checkHostCharacters(zone.replace(escapedUnreserved, ""));
  const isZoneEmpty = zone === "" && address.length !== close - 1;
  if (!address.includes(":") || parseIpAddress(address) === undefined || isZoneEmpty)
    throw new UriFault("invalid host");
  return hostAndPort.slice(0, close + 1);
}

function namedHost(hostAndPort: string, scheme: string): string {
  const first = hostAndPort.indexOf(":");
  // For schemes that it does not know, Go accepts further colons in the host.
  const colon = scheme === "http" || scheme === "https" ? first : hostAndPort.lastIndexOf(":");
  const host = colon < 0 ? hostAndPort : hostAndPort.slice(0, colon);
  if (colon >= 0) checkPort(hostAndPort.slice(colon));
  checkHostCharacters(host);
  if (hostAndPort !== "" && hostAndPort.split(".").includes("")) throw new UriFault("invalid domain");
  return host;
}

function checkPort(port: string): void {
  if (!/^(?::[0-9]*)?$/.test(port)) throw new UriFault(`invalid port ${JSON.stringify(port)} after host`);
}

/** An escape in a host can only mean octets beyond ASCII, and no name in a certificate has those. */
function checkHostCharacters(host: string): void {
  checkEscapes(host);
  const escape = /%..(?<!%25)/.exec(host)?.[0];
  if (escape !== undefined) throw new UriFault(`invalid URL escape ${JSON.stringify(escape)}`);
  const bad = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%]/.exec(host)?.[0];
  if (bad !== undefined) throw new UriFault(`invalid character ${JSON.stringify(bad)} in host name`);
}
