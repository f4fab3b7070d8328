import { tooManyRequests } from "../api/api-error.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import type { SharePath } from "../scheduling/share-path.ts";

const maximumWaiting = 100;
/** What the tokens of one asker may have of the places that the others of its level leave. */
const sharePerAsker = 0.75;

/** The tokens that wait for keys. Anybody can make up tokens, so only some may wait, and those of one asker leave room for others. */
export class WaitingTokens {
  readonly #share = new FairShare({ places: maximumWaiting, sharePerUser: sharePerAsker });
  readonly #refusal: string;

  /** `refusal`: the message when too many wait. */
  constructor(refusal: string) {
    this.#refusal = refusal;
  }

  /** Keeps a place for a token until `keys` resolves. Rejects with a 429 ApiError, and does not call `keys`, when too many wait. */
  async wait(asker: SharePath, keys: () => Promise<void>): Promise<void> {
    if (!this.#share.mayTake(asker)) throw tooManyRequests(this.#refusal, 1);
    this.#share.take(asker);
    try {
      await keys();
    } finally {
      this.#share.release(asker);
    }
  }
}
