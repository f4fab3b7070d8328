import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { encodeJavaTrustStore } from "../../pki/key-stores/java-key-store.ts";
import { encodePkcs12TrustStore } from "../../pki/key-stores/pkcs12.ts";
import type { TrustBundleFile } from "../agent-settings.ts";
import { failureReason } from "../failure-reason.ts";

/** How anchors are encoded in a file: as PEM, or in a store with this password. */
type AnchorEncoding = { readonly type: "pem" } | { readonly type: "pkcs12" | "jks"; readonly password: string };

/** The encoding of a file now: its password may have changed. `fault`: the password cannot be read. */
export function encodingOf({ store }: Pick<TrustBundleFile, "store">): AnchorEncoding | { readonly fault: string } {
  if (store === undefined) return { type: "pem" };
  try {
    return { type: store.type, password: store.password() };
  } catch (error) {
    return { fault: failureReason(error) };
  }
}

/** Encodes the anchors, which `pem` contains. Throws PkiError for an anchor that no trust store accepts. */
export function encodeAnchors(pem: string, encoding: AnchorEncoding): Buffer {
  if (encoding.type === "pem") return Buffer.from(pem);
  const encode = encoding.type === "pkcs12" ? encodePkcs12TrustStore : encodeJavaTrustStore;
  return encode({ certificates: parseCertificatesPem(pem), password: encoding.password });
}
