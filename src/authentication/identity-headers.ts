import type { Headers, HttpRequest } from "../api/http-message.ts";
import type { FrontProxyHeaders } from "./front-proxy.ts";
import { standardFrontProxyHeaders } from "./front-proxy.ts";

const dashed = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/**
 * Makes a function that takes every header that carries or claims an identity out of a request: Authorization, the
 * impersonation headers, and the front proxy's, under their standard names and the configured ones. `_` counts as `-`:
 * whatever reads headers afterwards may take one for the other (CVE-2025-64484). A request without any stays as it is.
 */
export function identityHeaderRemover(configured: FrontProxyHeaders = standardFrontProxyHeaders) {
  const families = [standardFrontProxyHeaders, configured];
  const names = new Set(
    families
      .flatMap((family) => [...family.usernameHeaders, ...family.uidHeaders, ...family.groupHeaders])
      .concat("authorization", "impersonate-user", "impersonate-group", "impersonate-uid")
      .map(dashed),
  );
  const prefixes = families
    .flatMap((family) => family.extraHeaderPrefixes)
    .concat("impersonate-extra-")
    .map(dashed);
  const isIdentity = (name: string): boolean => {
    const key = dashed(name);
    return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
  };

  return (request: HttpRequest): HttpRequest => {
    const kept = Object.entries(request.headers).filter(([name]) => !isIdentity(name));
    if (kept.length === Object.keys(request.headers).length) return request;
    const headers: Headers = Object.fromEntries(kept);
    const { method, path, query, connection, signal } = request;
    return { method, path, query, headers, connection, signal, readBody: () => request.readBody() };
  };
}
