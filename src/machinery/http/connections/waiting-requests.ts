import type { Socket } from "node:net";
import { FairShare } from "../../scheduling/fair-share.ts";
import { requestTurnOfAddress } from "../../scheduling/request-turn.ts";
import type { SharePath } from "../../scheduling/share-path.ts";
import { pathOfConnection } from "./path-of-connection.ts";

/**
 * How many requests of all connections may wait. Addresses may have 19,500 of these places; the rest is kept for the other levels. A
 * waiting request takes about two kilobytes, and costs its client about twenty bytes. An address may have three quarters of the places
 * that the others leave, and a connection three quarters of the places that the others of its address leave.
 */
const share = new FairShare({ places: 24_000, sharePerUser: 0.75 });

/**
 * The requests of one connection that wait for turns. Meanwhile the connection is not read, so at most the requests of one read wait.
 * Nor is it read while a body waits for its reader, or for a turn because it comes in many parts.
 */
export class WaitingRequests {
  protected readonly socket: Socket;
  readonly #path: SharePath;
  #waiting = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    this.#path = pathOfConnection(socket);
  }

  /** Whether one more request may wait. It takes memory as soon as it is parsed. */
  get hasRoom(): boolean {
    return share.mayTake(this.#path);
  }

  /** Whether a request waits, or unread bytes, which may contain a request. */
  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when the next request may begin. */
  async turn(): Promise<void> {
    share.take(this.#path);
    await this.unreadUntil(requestTurnOfAddress(this.#path));
    share.release(this.#path);
  }

  /** Pauses the connection until the next turn of its address. */
  readInTurn(): void {
    if (!this.isWaiting) void this.unreadUntil(requestTurnOfAddress(this.#path));
  }

  /** Pauses the reading of the connection until `event` resolves. */
  async unreadUntil(event: Promise<void>): Promise<void> {
    this.#waiting++;
    this.socket.pause();
    await event;
    if (--this.#waiting === 0) this.readOn();
  }

  protected readOn(): void {
    this.socket.resume();
  }
}
