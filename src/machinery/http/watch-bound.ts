import { tooManyRequests } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import { parametersOf } from "../registry/query-values.ts";

/** Limits the number of simultaneous requests. */
export interface RequestBound {
  /**
   * Takes a place for a request. Returns undefined when the request may run now, otherwise a promise that resolves when it may. Throws a
   * 429 when the user may have no more places.
   */
  enter(path: SharePath): Promise<void> | undefined;
  /** Gives a place back. Call it once for each request that entered, when the request has ended. */
  leave(path: SharePath): void;
}

/** The bound of a watch, which never has to wait: it may start at once or is refused. */
interface BoundWatch extends RequestBound {
  enter(path: SharePath): undefined;
}

/** The share of the places that one user may have. Watches stay open for long, so most places are kept for other users. */
const sharePerUser = 0.25;

/** Watches end after minutes, so a client that asks again at once would only be refused again. */
const retryAfterSeconds = 10;

/** The approximate memory of a watch. */
const bytesOfWatch = 12 * 1024;
/** A parsed selector takes up to so many bytes for each of its characters. */
const bytesOfSelectorCharacter = 160;
const bytesOfOtherCharacter = 2;

type Kept = Pick<HttpRequest, "query" | "headers">;

/** How many places a watch takes. It keeps its request in memory: the query, the headers, and the parsed selectors. */
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
 * Limits the number of open watches, each of which takes memory (about 12 KiB) for as long as it is open. A watch with long selectors or
 * headers counts as several. One user may have a quarter of the places that the others leave.
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
