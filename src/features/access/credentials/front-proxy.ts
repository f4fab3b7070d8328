import { ApiError } from "../../../machinery/api/api-error.ts";
import { createCertificateVerifier } from "./certificate-verifier.ts";
import type { CertificateVerifierOptions } from "./certificate-verifier.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import type { Credential } from "../../../machinery/authentication/credential.ts";
import type { Headers } from "../../../machinery/api/http-message.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { IdentityHeaders } from "../../../machinery/authentication/identity-headers.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import { certificateIdentity } from "./client-certificate.ts";
import { extraOf, firstHeaderValue, headerValues } from "../../../machinery/authentication/header-values.ts";

/** The headers in which a front proxy sends its users (`--requestheader-*-headers`), in lower case. */
export interface FrontProxyHeaders {
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

interface FrontProxyOptions extends CertificateVerifierOptions {
  readonly headers: FrontProxyHeaders;
  /** Common names of proxies. When empty, every certificate of the roots is allowed. */
  readonly allowedNames: readonly string[];
  /** When true, a proxy that names no user is refused. When false, the next credential is tried. */
  readonly isUserRequired: boolean;
}

export const standardFrontProxyHeaders: FrontProxyHeaders = {
  usernameHeaders: ["x-remote-user"],
  uidHeaders: ["x-remote-uid"],
  groupHeaders: ["x-remote-group"],
  extraHeaderPrefixes: ["x-remote-extra-"],
};

/**
 * Authenticates the user that a front proxy names in its headers (upstream:
 * `headerrequest.NewDynamicVerifyOptionsSecure`). The proxy's client certificate and its common name are checked before
 * any header is read. A client without a certificate is not a proxy. Without configured roots, no proxy is trusted. The
 * headers are removed in every case, under the configured names and the standard ones.
 */
export function frontProxy(options: FrontProxyOptions): Credential {
  const { headers, allowedNames, isUserRequired, ...certificates } = options;
  const verify = createCertificateVerifier(certificates);
  return {
    name: "front proxy",
    headers: identityHeadersOf([standardFrontProxyHeaders, headers]),
    authenticate(request) {
      const { peerCertificates } = request.connection;
      if (peerCertificates.length === 0 || certificates.roots().length === 0) return notApplicable;
      const answer = verify(peerCertificates);
      if (!answer.isTrusted) return refused(answer.reason);
      const { commonName } = answer.leaf.subject;
      if (allowedNames.length > 0 && !allowedNames.includes(commonName)) {
        return refused("x509: subject with a common name that is not in the allowed list");
      }
      const user = userOf(request.headers, headers);
      if (user !== undefined) {
        return { outcome: "authenticated", user: withCredential(user, certificateIdentity(answer.leaf)) };
      }
      if (isUserRequired) throw missingUser();
      return notApplicable;
    },
  };
}

function userOf(headers: Headers, names: FrontProxyHeaders): UserInfo | undefined {
  const first = (candidates: readonly string[]): string =>
    candidates.map((name) => firstHeaderValue(headers, name)).find((value) => value !== "") ?? "";
  const username = first(names.usernameHeaders);
  if (username === "") return undefined;
  const uid = first(names.uidHeaders);
  const groups = names.groupHeaders.flatMap((name) => headerValues(headers, name).filter((value) => value !== ""));
  const extra = new Map<string, string[]>();
  for (const [key, values] of names.extraHeaderPrefixes.flatMap((prefix) => [...extraOf(headers, prefix)])) {
    extra.set(key, [...(extra.get(key) ?? []), ...values]);
  }
  return { username, ...(uid !== "" && { uid }), groups, extra: Object.fromEntries(extra) };
}

const identityHeadersOf = (families: readonly FrontProxyHeaders[]): IdentityHeaders => ({
  names: families.flatMap((family) => [...family.usernameHeaders, ...family.uidHeaders, ...family.groupHeaders]),
  prefixes: families.flatMap((family) => family.extraHeaderPrefixes),
});

const missingUser = (): ApiError =>
  new ApiError({
    code: 401,
    reason: "Unauthorized",
    message: "Unauthorized: the front proxy's request names no user: the proxy must send its user header",
  });
