import { ApiError } from "../../../machinery/api/api-error.ts";
import { createCertificateVerifier } from "./certificate-verifier.ts";
import type { CertificateVerifierOptions } from "./certificate-verifier.ts";
import type { AuthenticateRequest } from "../../../machinery/authentication/credential.ts";
import { notMine, refused } from "../../../machinery/authentication/credential.ts";
import { extraOf, firstHeaderValue, headerValues } from "../../../machinery/authentication/header-values.ts";

/** The headers in which a front proxy sends its users (`--requestheader-*-headers`), in lower case. */
export interface FrontProxyHeaders {
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

export interface FrontProxyOptions extends CertificateVerifierOptions, FrontProxyHeaders {
  /** The allowed common names of proxies. Empty: every certificate that chains to the roots. */
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
 * Accepts the user that a front proxy names (upstream: `headerrequest.NewDynamicVerifyOptionsSecure`). First checks the
 * proxy's own certificate and name, then reads the headers. A caller without a certificate is not a proxy.
 */
export function frontProxy(options: FrontProxyOptions): AuthenticateRequest {
  const verify = createCertificateVerifier(options);
  const { allowedNames, isUserRequired, usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } = options;
  const first = (headers: Parameters<typeof firstHeaderValue>[0], names: readonly string[]): string =>
    names.map((name) => firstHeaderValue(headers, name)).find((value) => value !== "") ?? "";

  return ({ headers, connection: { peerCertificates } }) => {
    if (peerCertificates.length === 0) return notMine;
    const answer = verify(peerCertificates);
    if (!answer.isTrusted) return refused(answer.reason);
    const { commonName } = answer.leaf.subject;
    if (allowedNames.length > 0 && !allowedNames.includes(commonName)) {
      return refused("x509: subject with a common name that is not in the allowed list");
    }
    const username = first(headers, usernameHeaders);
    if (username === "") {
      if (isUserRequired) throw nobodyNamed();
      return notMine;
    }
    const uid = first(headers, uidHeaders);
    const groups = groupHeaders.flatMap((name) => headerValues(headers, name).filter((value) => value !== ""));
    const extra = new Map<string, string[]>();
    for (const [key, values] of extraHeaderPrefixes.flatMap((prefix) => [...extraOf(headers, prefix)])) {
      extra.set(key, [...(extra.get(key) ?? []), ...values]);
    }
    return {
      outcome: "authenticated",
      user: { username, ...(uid !== "" && { uid }), groups, extra: Object.fromEntries(extra) },
    };
  };
}

const nobodyNamed = (): ApiError =>
  new ApiError({
    code: 401,
    reason: "Unauthorized",
    message: "Unauthorized: the front proxy's request names no user, and this server requires one",
  });
