/**
 * Input that is not valid PEM, DER or X.509, or a signature that does not verify. The message is upstream's wording
 * (Go's `encoding/asn1` and `crypto/x509`), carries nothing secret and may be shown to whoever sent the input.
 */
export class PkiError extends Error {
  override readonly name = "PkiError";
}
