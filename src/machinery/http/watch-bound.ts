import { tooManyRequests } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import { parametersOf } from "../registry/query-values.ts";

/** What limits how many requests there are at once. */
export interface RequestBound {
  /** Undefined: the request may run now; otherwise wait first. Throws a 429 when the user may have no more. */
  enter(path: SharePath): Promise<void> | undefined;
  /** Call it once for each request that entered, when it has ended. */
  leave(path: SharePath): void;
}

/** A watch does not wait. */
interface BoundWatch extends RequestBound {
  enter(path: SharePath): undefined;
}

/** The share of the open watches that one user may have. Watches stay, so most of them are for others. */
const sharePerUser = 0.25;

/** Watches end after minutes: clients that ask again at once would only make work. */
const retryAfterSeconds = 10;

/** What a watch takes in memory, about. */
const bytesOfWatch = 12 * 1024;
/** A parsed selector takes up to so many bytes for each of its characters. */
const bytesOfSelectorCharacter = 160;
const bytesOfOtherCharacter = 2;

type Kept = Pick<HttpRequest, "query" | "headers">;

/** How many watches one counts as. It keeps its request: the query, the headers, and the selectors in parsed form. */
function placesOf({ query, headers }: Kept): number {
  const parameters = parametersOf(query);
  const selectors = [parameters.get("labelSelector"), parameters.get("fieldSelector")].join("");
  let characters = query.length;
  for (const [name, value = ""] of Object.entries(headers)) {
    characters += name.length + (typeof value === "string" ? value.length : value.join("").length);
  }
  const bytes = selectors.length * bytesOfSelectorCharacter + characters * bytesOfOtherCharacter;
  return 1 + Math.floor(bytes / bytesOfWatch);
}

/**
 * Limits the number of open watches, each of which takes memory (about 12 KiB) for as long as it is open. One with long selectors or
 * headers counts as several. One user may have a quarter of those that the others leave.
 */
export class WatchBound {
  readonly #share: FairShare;
  #refused = 0;

  constructor(maximumWatches: number) {
    this.#share = new FairShare({ places: maximumWatches, sharePerUser });
  }

  /** How many watches were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** The bound for the watch that a request asks for. */
  of(request: Kept): BoundWatch {
    const places = placesOf(request);
    return {
      enter: (path) => this.#enter(path, places),
      leave: (path) => this.#share.release(path, places),
    };
  }

  #enter(path: SharePath, places: number): undefined {
    if (!this.#share.mayTake(path, places)) {
      this.#refused++;
      throw tooManyRequests("too many watches are open: close some, and try again later", retryAfterSeconds);
    }
    this.#share.take(path, places);
  }
}
