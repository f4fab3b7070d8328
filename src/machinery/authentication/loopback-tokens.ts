import { randomBytes } from "node:crypto";
import type { UserInfo } from "../api/user-info.ts";
import { tokenDigest } from "./token-digest.ts";

/**
 * Random tokens of this process for its own clients, kept only in memory. With them, requests of these clients go through the same chain as
 * all others.
 */
export class LoopbackTokens {
  readonly #digest = tokenDigest();
  readonly #users = new Map<string, UserInfo>();

  /** Creates a token that authenticates as this user. */
  issue(user: UserInfo): string {
    const token = `loopback-${randomBytes(32).toString("base64url")}`;
    this.#users.set(this.#digest(token), user);
    return token;
  }

  find(token: string): UserInfo | undefined {
    return token.startsWith("loopback-") ? this.#users.get(this.#digest(token)) : undefined;
  }
}
