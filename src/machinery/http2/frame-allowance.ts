import { TokenBucket } from "../scheduling/token-bucket.ts";
import { ConnectionError, errorCodes } from "./protocol.ts";

/** How many frames the other side of a connection may send that make work and bring nothing. */
export class FrameAllowance extends TokenBucket {
  /** Throws a ConnectionError when it is used up. */
  override take(frames = 1): void {
    if (this.available() < frames)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "too many frames that bring nothing");
    super.take(frames);
  }
}
