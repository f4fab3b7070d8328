import type { Names } from "../../../machinery/api/names.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { encodePem } from "../../../pki/pem.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";
import type { FrontProxyHeaders } from "../credentials/front-proxy.ts";
import { rbacBuilder } from "../policy/rbac-builder.ts";
import type { Role } from "../rbac/roles.ts";

/**
 * The ConfigMap where extension API servers find the CAs to trust. Its name is built into clients, so it is the same in
 * both profiles.
 */
export const delegatedAuthenticationName = "extension-apiserver-authentication";

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

export interface PublishedBefore {
  /** Data of the ConfigMap as it is. */
  readonly data: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The data of the ConfigMap (upstream: `clusterauthenticationtrust`). With `before`, what other servers on the same store have
 * published stays until its certificates end, as upstream: they may have other settings.
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
  try {
    return parseCertificatesPem(before.data[key] ?? "");
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}

function keptNames(key: string, before: PublishedBefore | undefined): readonly string[] {
  try {
    const kept: unknown = JSON.parse(before?.data[key] ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** As Go writes header names: `X-Remote-User`. */
const canonicalHeader = (name: string): string => name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());

/** Who is bound to this role may read the ConfigMap (upstream's role of the same name). */
export function delegatedAuthenticationReader(names: Names): Role {
  const { role, rule } = rbacBuilder(names);
  return role("extension-apiserver-authentication-reader", names.namespaces.system, [
    rule(["get", "list", "watch"], [""], ["configmaps"], [delegatedAuthenticationName]),
  ]);
}
