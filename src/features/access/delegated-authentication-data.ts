import type { Certificate } from "../../pki/certificates/certificate.ts";
import { encodePem } from "../../pki/pem.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import type { FrontProxyHeaders } from "./credentials/front-proxy.ts";

/** The CAs and proxy settings of this server, for programs that authenticate in the same way. */
export interface DelegatedAuthentication {
  readonly clientAuthorities: readonly Certificate[];
  /** Undefined: no front proxy is trusted. */
  readonly frontProxy:
    | {
        readonly authorities: readonly Certificate[];
        readonly allowedNames: readonly string[];
        readonly headers: FrontProxyHeaders;
      }
    | undefined;
}

interface PublishedBefore {
  /** The present data of the ConfigMap. */
  readonly data: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The data of the ConfigMap (upstream: `clusterauthenticationtrust`). With `before`, keeps what other servers on the same store have
 * published, because they may have other settings. As in upstream, published certificates are kept until they expire.
 */
export function delegatedAuthenticationData(
  { clientAuthorities, frontProxy }: DelegatedAuthentication,
  before?: PublishedBefore,
): Record<string, string> {
  const bundle = (key: string, own: readonly Certificate[]): Record<string, string> => {
    const all = [...keptCertificates(key, before), ...own];
    // All replicas must leave out the same certificates: otherwise each would undo the others' writes.
    const text = distinctPem(before === undefined ? all : all.filter(({ notAfter }) => notAfter > before.now));
    return text === "" ? {} : { [key]: text };
  };
  const list = (key: string, own: readonly string[]): Record<string, string> => ({
    [key]: JSON.stringify([...new Set([...keptNames(key, before), ...own])]),
  });
  const proxyBundle = bundle("requestheader-client-ca-file", frontProxy?.authorities ?? []);
  const headers = frontProxy?.headers;
  return {
    ...bundle("client-ca-file", clientAuthorities),
    ...(Object.keys(proxyBundle).length > 0 && {
      ...proxyBundle,
      ...list("requestheader-allowed-names", frontProxy?.allowedNames ?? []),
      ...list("requestheader-username-headers", (headers?.usernameHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-uid-headers", (headers?.uidHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-group-headers", (headers?.groupHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-extra-headers-prefix", (headers?.extraHeaderPrefixes ?? []).map(canonicalHeader)),
    }),
  };
}

const distinctPem = (certificates: readonly Certificate[]): string =>
  [...new Set(certificates.map(({ der }) => encodePem("CERTIFICATE", der)))].join("");

function keptCertificates(key: string, before: PublishedBefore | undefined): readonly Certificate[] {
  if (before === undefined) return [];
  const kept = orPkiError(() => parseCertificatesPem(before.data[key] ?? ""));
  return kept instanceof PkiError ? [] : kept;
}

function keptNames(key: string, before: PublishedBefore | undefined): readonly string[] {
  try {
    const kept: unknown = JSON.parse(before?.data[key] ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** A header name as Go writes it, such as `X-Remote-User`. */
const canonicalHeader = (name: string): string => name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
