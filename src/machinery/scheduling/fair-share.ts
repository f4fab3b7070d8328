export interface FairShareOptions {
  readonly places: number;
  /** What one user may have of the places that the others leave. */
  readonly sharePerUser: number;
}

/**
 * Places that users share. Each may have only a part of those that the others leave, so that a user, or two together, cannot take all:
 * with a share of three quarters, one leaves a quarter, and two a sixteenth. Whoever has no place may take one, so many users can take all.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  #taken = 0;
  readonly #takenBy = new Map<string, number>();

  constructor(options: FairShareOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken;
  }

  get isFull(): boolean {
    return this.#taken >= this.#options.places;
  }

  mayTake(username: string): boolean {
    if (this.isFull) return false;
    const { places, sharePerUser } = this.#options;
    const own = this.#takenBy.get(username) ?? 0;
    const leftByOthers = places - (this.#taken - own);
    return own < Math.max(1, Math.floor(leftByOthers * sharePerUser));
  }

  take(username: string): void {
    this.#taken++;
    this.#takenBy.set(username, (this.#takenBy.get(username) ?? 0) + 1);
  }

  release(username: string): void {
    this.#taken--;
    const left = (this.#takenBy.get(username) ?? 0) - 1;
    if (left > 0) this.#takenBy.set(username, left);
    else this.#takenBy.delete(username);
  }
}
