import type { Names } from "../../machinery/api/names.ts";
import { readableObject } from "../../machinery/registry/reads/readable-objects.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { configMapResource } from "../core/index.ts";
import { delegatedAuthenticationName } from "./delegated-authentication-publisher.ts";

/** The CAs for the certificates of clients, then those of front proxies. Throws PkiError. */
export const publishedAuthorities = (
  data: Readonly<Record<string, string>>,
): Record<"clients" | "proxies", Certificate[]> => ({
  clients: parseCertificatesPem(data["client-ca-file"] ?? ""),
  proxies: parseCertificatesPem(data["requestheader-client-ca-file"] ?? ""),
});

/**
 * The CAs that any replica trusts for clients: each publishes its own in one ConfigMap (`delegatedAuthenticationData`). None before the
 * first replica has started. Undefined: they cannot be read.
 */
export function publishedClientTrust(stores: Stores, names: Names): () => readonly Certificate[] | undefined {
  const where = { namespace: names.namespaces.system, name: delegatedAuthenticationName };
  let known: { readonly text: string; readonly trusted: readonly Certificate[] | undefined } | undefined;
  return () => {
    const configMap = readableObject(stores.of(configMapResource), where);
    if (configMap === undefined) return [];
    if (configMap === "unreadable") return undefined;
    const { data = {} } = configMap;
    const text = JSON.stringify(data);
    if (known?.text !== text) {
      const read = orPkiError(() => publishedAuthorities(data));
      known = { text, trusted: read instanceof PkiError ? undefined : [...read.clients, ...read.proxies] };
    }
    return known.trusted;
  };
}
