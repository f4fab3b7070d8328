/**
 * Input that is not valid PEM, DER or X.509, or a signature that does not verify. The message uses upstream's wording
 * (Go's `encoding/asn1` and `crypto/x509`). It contains nothing secret, so it may be shown to the sender of the input.
 */
export class PkiError extends Error {
  override readonly name = "PkiError";
}
