import { TokenBucket } from "../scheduling/token-bucket.ts";
import type { TokenBucketOptions } from "../scheduling/token-bucket.ts";
import { ConnectionError, errorCodes } from "./protocol.ts";

/** How many frames without content, which only make work, the other side of a connection may send. */
export class FrameAllowance extends TokenBucket {
  constructor({ nowSeconds, ...options }: Omit<TokenBucketOptions, "clock"> & { readonly nowSeconds: () => number }) {
    super({ ...options, clock: { now: () => nowSeconds() * 1000 } });
  }

  /** Throws a ConnectionError when the allowance is used up. */
  override take(frames = 1): void {
    if (this.available() < frames)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "too many frames that bring nothing");
    super.take(frames);
  }
}
