/** A URL by its parts, as it was written. */
export interface ParsedUrl {
  /** In lower case; empty for a path. */
  readonly scheme: string;
  /** With the port. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/**
 * Parses a URL like Go's `url.Parse`, or with `isRequest` like `url.ParseRequestURI`, which takes only absolute URLs and paths, and
 * no fragment. Throws an Error with Go's words.
 */
export function parseUrl(text: string, { isRequest }: { readonly isRequest: boolean }): ParsedUrl {
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text)) throw fault(text, "net/url: invalid control character in URL");
  if (text === "" && isRequest) throw fault(text, "empty url");
  const [whole, fragment] = isRequest ? [text, ""] : cut(text, "#");
  if (whole.startsWith(":")) throw fault(text, "missing protocol scheme");
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(whole)?.[0] ?? "";
  const [rest, query] = cut(scheme === "" ? whole : whole.slice(scheme.length + 1), "?");
  const parts = { scheme: scheme.toLowerCase(), host: "", path: rest, query };
  checkEscapes(fragment, text);
  if (whole === "*") return parts;
  if (!rest.startsWith("/")) {
    // What follows a scheme without a slash is opaque.
    if (scheme !== "") return { ...parts, path: "" };
    if (isRequest) throw fault(text, "invalid URI for request");
    if (cut(rest, "/")[0].includes(":")) throw fault(text, "first path segment in URL cannot contain colon");
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !(isRequest || rest.startsWith("///")));
  const authority = hasAuthority ? cut(rest.slice(2), "/")[0] : "";
  const path = hasAuthority ? rest.slice(2 + authority.length) : rest;
  checkEscapes(path, text);
  return { ...parts, host: hostOf(authority, text), path };
}

const fault = (text: string, reason: string): Error => new Error(`parse ${JSON.stringify(text)}: ${reason}`);

/** The text before and after the first separator. */
function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

function checkEscapes(part: string, text: string): void {
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(part)?.[0];
  if (bad !== undefined) throw fault(text, `invalid URL escape ${JSON.stringify(bad)}`);
}

function hostOf(authority: string, text: string): string {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw fault(text, "net/url: invalid userinfo");
  checkEscapes(user, text);
  const host = authority.slice(at + 1);
  const close = host.lastIndexOf("]");
  if (host.startsWith("[") && close < 0) throw fault(text, "missing ']' in host");
  if (host.lastIndexOf("[") > 0) throw fault(text, "invalid IP-literal");
  const colon = host.startsWith("[") ? close + 1 : host.lastIndexOf(":");
  const port = colon < 0 ? "" : host.slice(colon);
  if (!/^(?::\d*)?$/.test(port)) throw fault(text, `invalid port ${JSON.stringify(port)} after host`);
  checkEscapes(host, text);
  // An escape in a host can only mean bytes beyond ASCII, or the zone of an address.
  const escape = /%(?!25)[0-7]./.exec(host)?.[0];
  if (escape !== undefined) throw fault(text, `invalid URL escape ${JSON.stringify(escape)}`);
  // oxlint-disable-next-line no-control-regex -- all of ASCII but what a host may have
  const bad = /[\u0000-\u007f](?<![A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%])/.exec(host)?.[0];
  if (bad !== undefined) throw fault(text, `invalid character ${JSON.stringify(bad)} in host name`);
  return host;
}
