import type { UserInfo } from "../api/user-info.ts";

/** The open watches and their users. `endRefused` ends the watches of users who are refused by now. */
export class OpenStreams {
  readonly #isRefused: (user: UserInfo) => boolean;
  readonly #streams = new Set<{ readonly user: UserInfo; readonly end: () => void }>();

  constructor(isRefused: (user: UserInfo) => boolean) {
    this.#isRefused = isRefused;
  }

  /**
   * Returns the function to call when the stream has ended. Ends the stream soon if its user was refused after the request was
   * authenticated.
   */
  add(user: UserInfo, end: () => void): () => void {
    const stream = { user, end };
    this.#streams.add(stream);
    if (this.#isRefused(user)) setImmediate(() => this.#streams.has(stream) && end());
    return () => this.#streams.delete(stream);
  }

  endRefused(): void {
    for (const { user, end } of [...this.#streams]) if (this.#isRefused(user)) end();
  }
}
