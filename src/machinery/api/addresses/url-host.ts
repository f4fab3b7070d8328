/** A host as URLs name it: an IPv6 address in brackets (RFC 3986 3.2.2). */
export const urlHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** The host that a URL names: an IPv6 address without its brackets. Other hosts stay as they are. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");

/** The host and the port that a URL of `http:` or `https:` names. */
export function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url);
  const defaultPort = protocol === "http:" ? 80 : 443;
  return { host: withoutBrackets(hostname), port: port === "" ? defaultPort : Number(port) };
}
