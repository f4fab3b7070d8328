import { ConnectionError, errorCodes } from "./protocol.ts";

interface FrameAllowanceOptions {
  /** How many frames may come at once. */
  readonly burst: number;
  readonly perSecond: number;
  readonly nowSeconds: () => number;
}

/** How many frames the other side of a connection may send that make work and bring nothing (a token bucket). */
export class FrameAllowance {
  readonly #options: FrameAllowanceOptions;
  #left: number;
  #atSecond: number;

  constructor(options: FrameAllowanceOptions) {
    this.#options = options;
    this.#left = options.burst;
    this.#atSecond = options.nowSeconds();
  }

  /** Allows so many more, up to the burst. */
  earn(frames: number): void {
    this.#left = Math.min(this.#options.burst, this.#left + frames);
  }

  /** Throws a ConnectionError when it is used up. */
  spend(frames = 1): void {
    const { perSecond, nowSeconds } = this.#options;
    const now = nowSeconds();
    this.earn((now - this.#atSecond) * perSecond);
    this.#atSecond = now;
    if (this.#left < frames)
      throw new ConnectionError(errorCodes.enhanceYourCalm, "too many frames that bring nothing");
    this.#left -= frames;
  }
}
