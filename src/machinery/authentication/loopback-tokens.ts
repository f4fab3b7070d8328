import { randomBytes } from "node:crypto";
import type { UserInfo } from "../api/user-info.ts";
import { tokenDigest } from "./token-digest.ts";

/**
 * Tokens of this process for itself: random, kept in memory only, gone with the process. They let the server's own clients
 * go through the same chain as all others.
 */
export class LoopbackTokens {
  readonly #digest = tokenDigest();
  readonly #users = new Map<string, UserInfo>();

  /** A new token that authenticates as a user. */
  issue(user: UserInfo): string {
    const token = `loopback-${randomBytes(32).toString("base64url")}`;
    this.#users.set(this.#digest(token), user);
    return token;
  }

  find(token: string): UserInfo | undefined {
    return token.startsWith("loopback-") ? this.#users.get(this.#digest(token)) : undefined;
  }
}
