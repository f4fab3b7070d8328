/** A key that is not in this process. */
interface OutsideKey {
  readonly provider: "externaljwt" | "pkcs11";
  /** The key's name for people, without secrets. It is a label of metrics: settings name the keys, so they are few. */
  readonly key: string;
}

interface SignatureAttempt extends OutsideKey {
  readonly outcome: "signed" | "failed";
  readonly seconds: number;
}

/** A call of an external signer's function, as upstream measures it. */
interface SignerCall {
  /** Such as `/v1.ExternalJWTSigner/Sign`. */
  readonly method: string;
  /** The name of a gRPC status, such as `DeadlineExceeded`. */
  readonly code: string;
  readonly seconds: number;
}

/** Receives the calls of keys outside the process. */
export interface OutsideKeyObserver {
  onSignature(attempt: SignatureAttempt): void;
  onSignerCall(call: SignerCall): void;
  /** Receives the outcome of one signature by an external signer: after all retries and the check of the answer. */
  onSignerSigned(code: string): void;
  /** Receives the outcome of one fetch of an external signer's keys. `dataTimestampSeconds`: see `FetchKeysAnswer`. */
  onKeysFetched(code: string, dataTimestampSeconds?: number): void;
}

/** Makes a signature with a key outside the process, and reports its outcome to the observer. */
export async function observedSignature<T>(
  { observer, ...key }: OutsideKey & { readonly observer: OutsideKeyObserver | undefined },
  sign: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  const report = (outcome: SignatureAttempt["outcome"]): void =>
    observer?.onSignature({ ...key, outcome, seconds: (performance.now() - begun) / 1000 });
  try {
    const signed = await sign();
    report("signed");
    return signed;
  } catch (error) {
    report("failed");
    throw error;
  }
}
