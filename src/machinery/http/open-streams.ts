import type { UserInfo } from "../api/user-info.ts";

/** The watches that are open, with those who read them: so that a user who is refused from now on loses them too. */
export class OpenStreams {
  readonly #streams = new Set<{ readonly user: UserInfo; readonly end: () => void }>();

  /** Returns what to call when the stream has ended. */
  add(user: UserInfo, end: () => void): () => void {
    const stream = { user, end };
    this.#streams.add(stream);
    return () => this.#streams.delete(stream);
  }

  endOf(isRefused: (user: UserInfo) => boolean): void {
    for (const { user, end } of [...this.#streams]) if (isRefused(user)) end();
  }
}
