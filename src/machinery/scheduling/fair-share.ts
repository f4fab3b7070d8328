import { shareLevels } from "./share-path.ts";
import type { ShareLevel, SharePath } from "./share-path.ts";

interface FairShareOptions {
  readonly places: number;
  /** What one user, or all service accounts of one namespace, may have of the places that the others leave. */
  readonly sharePerUser: number;
}

/** The part of all places that is kept for each level of users. */
const keptPerLevel = 1 / 16;
/** The part that one service account may have of the places that the other service accounts leave of their namespace's share. */
const shareInNamespace = 0.75;

/**
 * Places that users share. A user may have only a part of the places that the other users of its level leave: with a share of three
 * quarters, one user leaves a quarter, and two users a sixteenth. A user without a place may take one while its level has any, so many
 * users can take all places of their level. They cannot take what is kept for the other levels: a sixteenth of all places for each.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  readonly #kept: number;
  #taken = 0;
  /** The number of taken places, by each name in the paths of the users who have them. */
  readonly #takenBy = new Map<string, number>();

  constructor(options: FairShareOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.places * keptPerLevel);
  }

  get taken(): number {
    return this.#taken;
  }

  get isFull(): boolean {
    return this.#taken >= this.#options.places;
  }

  /** Whether a user may take so many places. With only the beginning of a path: whether any user below it might. */
  mayTake([level, ...names]: SharePath, wanted = 1): boolean {
    let places = this.#placesOf(level);
    let taken = this.#of(level);
    if (taken + wanted > places) return false;
    let share = this.#options.sharePerUser;
    for (const name of names) {
      const own = this.#of(name);
      places = Math.max(1, Math.floor((places - (taken - own)) * share));
      if (own + wanted > places) return false;
      taken = own;
      share = shareInNamespace;
    }
    return true;
  }

  take(path: SharePath, places = 1): void {
    this.#taken += places;
    for (const name of path) this.#takenBy.set(name, this.#of(name) + places);
  }

  release(path: SharePath, places = 1): void {
    this.#taken -= places;
    for (const name of path) {
      const left = this.#of(name) - places;
      if (left > 0) this.#takenBy.set(name, left);
      else this.#takenBy.delete(name);
    }
  }

  #of(name: string): number {
    return this.#takenBy.get(name) ?? 0;
  }

  /** All places except those of the other levels. Each level has at least the places that are kept for it. */
  #placesOf(level: ShareLevel): number {
    let places = this.#options.places;
    for (const other of shareLevels) if (other !== level) places -= Math.max(this.#kept, this.#of(other));
    return places;
  }
}
