/** Each signature costs some 50 µs. Whatever strangers ask, a process makes no more. */
const signaturesPerSecond = 1000;
/** How many are left for answers that are kept: strangers can ask for others without end, and must not keep these from anybody. */
const reservedSignatures = signaturesPerSecond / 2;

/** How many OCSP answers may still be signed in this second. */
export class SignatureBudget {
  #at = 0;
  #left = 0;

  /** Whether an answer that is kept may be signed now, in milliseconds since the epoch. */
  hasSome(now: number): boolean {
    return this.#leftAt(now) >= 1;
  }

  /** Whether any other may. */
  hasPlenty(now: number): boolean {
    return this.#leftAt(now) > reservedSignatures;
  }

  spend(): void {
    this.#left -= 1;
  }

  #leftAt(now: number): number {
    // A clock that is set back must not take signatures away.
    const passedSeconds = Math.abs(now - this.#at) / 1000;
    this.#left = Math.min(signaturesPerSecond, this.#left + passedSeconds * signaturesPerSecond);
    this.#at = now;
    return this.#left;
  }
}
