import { parseIpAddress } from "./ip-address.ts";

/** The parts of a URL, as written. */
export interface ParsedUrl {
  /** In lower case. Empty for a path. */
  readonly scheme: string;
  /** The host with its port. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** Why a text is not a URL, in Go's words. */
export class UrlFault extends Error {}

/**
 * Parses a URL like `url.Parse` of Go 1.26. With `isRequest`, parses like `url.ParseRequestURI`, which accepts only absolute URLs and
 * paths, without a fragment (RFC 3986, with the zones of RFC 6874). Throws UrlFault.
 */
export function parseUrl(text: string, { isRequest }: { readonly isRequest: boolean }): ParsedUrl {
  // oxlint-disable-next-line no-control-regex -- control characters are refused
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new UrlFault("net/url: invalid control character in URL");
  if (text === "" && isRequest) throw new UrlFault("empty url");
  const [whole, fragment] = isRequest ? [text, ""] : cut(text, "#");
  if (whole.startsWith(":")) throw new UrlFault("missing protocol scheme");
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(whole)?.[0] ?? "";
  const [rest, query] = cut(scheme === "" ? whole : whole.slice(scheme.length + 1), "?");
  const parts = { scheme: scheme.toLowerCase(), host: "", path: rest, query };
  checkEscapes(fragment);
  if (whole === "*") return parts;
  if (!rest.startsWith("/")) {
    // The rest after a scheme is opaque if it has no slash.
    if (scheme !== "") return { ...parts, path: "" };
    if (isRequest) throw new UrlFault("invalid URI for request");
    if (cut(rest, "/")[0].includes(":")) throw new UrlFault("first path segment in URL cannot contain colon");
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !(isRequest || rest.startsWith("///")));
  const authority = hasAuthority ? cut(rest.slice(2), "/")[0] : "";
  const host = hostOf(authority, parts.scheme);
  const path = hasAuthority ? rest.slice(2 + authority.length) : rest;
  checkEscapes(path);
  return { ...parts, host, path };
}

/** The text before and after the first separator. */
function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

function checkEscapes(text: string): void {
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(text)?.[0];
  if (bad !== undefined) throw new UrlFault(`invalid URL escape ${JSON.stringify(bad)}`);
}

function hostOf(authority: string, scheme: string): string {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  const host = authority.slice(at + 1);
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) throw new UrlFault("invalid IP-literal");
  if (bracket === 0) checkIpLiteral(host);
  else checkName(host, scheme);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new UrlFault("net/url: invalid userinfo");
  checkEscapes(user);
  return host;
}

function checkIpLiteral(host: string): void {
  const close = host.lastIndexOf("]");
  if (close < 0) throw new UrlFault("missing ']' in host");
  checkPort(host.slice(close + 1));
  const inside = host.slice(1, close);
  const [address, zone] = cut(inside, "%25");
  checkHostCharacters(address);
  checkZone(zone);
  const isZoneEmpty = zone === "" && address !== inside;
  if (!address.includes(":") || parseIpAddress(address) === undefined || isZoneEmpty)
    throw new UrlFault("invalid host");
}

/** Throws UrlFault for escapes that a zone may not have: it may escape blanks, and the characters that a host may have unescaped. */
function checkZone(zone: string): void {
  const escapes = /%([0-9A-Fa-f]{2})/g;
  for (const [escape, hex = ""] of zone.matchAll(escapes)) {
    if (!/^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"% ]$/.test(String.fromCharCode(Number.parseInt(hex, 16))))
      throw new UrlFault(`invalid URL escape ${JSON.stringify(escape)}`);
  }
  checkHostCharacters(zone.replaceAll(escapes, "-"));
}

function checkName(host: string, scheme: string): void {
  // For schemes other than http and https, Go accepts further colons in the host.
  const colon = scheme === "http" || scheme === "https" ? host.indexOf(":") : host.lastIndexOf(":");
  if (colon >= 0) checkPort(host.slice(colon));
  checkHostCharacters(host);
}

function checkPort(port: string): void {
  if (!/^(?::\d*)?$/.test(port)) throw new UrlFault(`invalid port ${JSON.stringify(port)} after host`);
}

function checkHostCharacters(host: string): void {
  checkEscapes(host);
  // An escape in a host can only stand for bytes beyond ASCII, or begin the zone of an address.
  const escape = /%(?!25)[0-7]./.exec(host)?.[0];
  if (escape !== undefined) throw new UrlFault(`invalid URL escape ${JSON.stringify(escape)}`);
  // oxlint-disable-next-line no-control-regex -- all of ASCII except the characters of a host
  const bad = /[\u0000-\u007f](?<![A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%])/.exec(host)?.[0];
  if (bad !== undefined) throw new UrlFault(`invalid character ${JSON.stringify(bad)} in host name`);
}
