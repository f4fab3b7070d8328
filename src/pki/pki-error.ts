/**
 * Input that is not valid PEM, DER or X.509, or a signature that does not verify. The message uses upstream's wording
 * (Go's `encoding/asn1` and `crypto/x509`). It contains nothing secret, so it may be shown to the sender of the input.
 */
export class PkiError extends Error {
  override readonly name = "PkiError";
}

/** Returns what `read` returns, or the PkiError that it throws. Other errors are thrown. */
export function orPkiError<T>(read: () => T): T | PkiError {
  try {
    return read();
  } catch (error) {
    if (error instanceof PkiError) return error;
    throw error;
  }
}

/** Returns what `read` returns. Converts an error in the DER that it reads to a PkiError with Go's words: `x509: ` and `fault`. */
export function withFault<T>(fault: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof PkiError && error.message.startsWith("asn1:")) throw new PkiError(`x509: ${fault}`);
    throw error;
  }
}
