import type { IncomingMessage } from "node:http";
import { bodyTooLarge } from "../../../api/api-error.ts";
import { ByteAccumulator } from "../../../api/bytes/byte-accumulator.ts";
import { incompleteBody } from "../exchange.ts";
import type { RequestBodyReader } from "../exchange.ts";
import { takeBody } from "./node-http.ts";
import type { WaitingRequests } from "../waiting-requests.ts";

/** How much of a body is kept before the handler reads it: as much as for an HTTP/2 stream. Beyond it, the connection is not read. */
const maximumUnreadBytes = 64 * 1024;

/**
 * The body of a request over HTTP/1.1. It takes memory only for its bytes, also when it comes in many small parts.
 */
export class Http1Body {
  readonly #request: IncomingMessage;
  readonly #waiting: () => WaitingRequests;
  readonly #bytes = new ByteAccumulator();
  #reader: RequestBodyReader | undefined;
  #isWhole = false;
  #isBroken = false;
  #isDropped = false;
  /** Set while the connection is not read because too much of the body is unread. */
  #readOn: (() => void) | undefined;

  /** `waiting`: the waiting requests of the connection, which can pause its reading. */
  constructor(request: IncomingMessage, waiting: () => WaitingRequests) {
    this.#request = request;
    this.#waiting = waiting;
    takeBody(request, (part) => (part === null ? this.#end() : this.#receive(part)));
    request.on("close", () => this.#fail());
  }

  /** Reads the whole body. Call it once. */
  read(reader: RequestBodyReader): void {
    this.#reader = reader;
    this.#check(reader);
    this.#goOn();
  }

  /** Drops the body, also the part that still comes: nobody will read it. */
  drop(): void {
    this.#isDropped = true;
    this.#reader = undefined;
    this.#bytes.take();
    this.#goOn();
  }

  /** Call it when the next bytes are malformed: the body fails if it is not complete. */
  breakOff(): void {
    if (!this.#request.complete) this.#fail();
  }

  #fail(): void {
    if (this.#isWhole) return;
    this.#isBroken = true;
    this.#reader?.failed(incompleteBody());
    this.#goOn();
  }

  #receive(part: Buffer): void {
    if (!this.#isDropped) this.#bytes.add(part);
    if (this.#reader !== undefined) this.#check(this.#reader);
    else if (this.#bytes.length > maximumUnreadBytes) this.#waitForReader();
  }

  #end(): void {
    this.#isWhole = true;
    if (this.#reader !== undefined) this.#check(this.#reader);
    this.#goOn();
  }

  #check({ maximumBytes, whole, failed }: RequestBodyReader): void {
    if (this.#bytes.length > maximumBytes) {
      failed(bodyTooLarge(maximumBytes));
      this.drop();
    } else if (this.#isWhole) whole(this.#bytes.take());
    else if (this.#isBroken) failed(incompleteBody());
  }

  #waitForReader(): void {
    if (this.#readOn === undefined)
      void this.#waiting().unreadUntil(new Promise((resolve) => (this.#readOn = resolve)));
  }

  #goOn(): void {
    this.#readOn?.();
    this.#readOn = undefined;
  }
}
