import type { HttpResponse } from "../../api/http-message.ts";

interface Answer {
  /** Ends the answer immediately, even if only a part of it is sent. */
  destroy(): void;
}

/** An answer that is written over time. */
interface Stream extends Answer {
  readonly isStream: boolean;
  /** How many bytes the client has not taken yet. */
  bufferedBytes(): number;
  /** The last second in which the client read, or had read everything. */
  readAtSecond(nowSecond: number): number;
}

/** A stream may end when its client has read nothing for so long. */
const patienceSeconds = 2;

/** The memory of an answer besides its head and body: the state that the connection keeps for it. */
const answerOverheadBytes = 4096;

type WholeResponse = Pick<HttpResponse, "headers"> & { readonly body: string | Buffer };

/** A client can make a head long, with a long Audit-ID. */
function headBytes(headers: HttpResponse["headers"]): number {
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === "string") bytes += value.length;
    else if (value !== undefined) for (const one of value) bytes += one.length;
  }
  return bytes;
}

/**
 * Limits the memory of answers that clients have not read completely yet, and of the waiting bytes of streams. Beyond the limit, the oldest
 * answers end, because their clients have had the most time to read, and the streams that were not read for the longest time.
 */
export class UnsentAnswers {
  readonly #maximumBytes: number;
  readonly #onEnded: () => void;
  /** The answers in the order in which they were made, each with its bytes. */
  readonly #answers = new Map<Answer, number>();
  #bytes = 0;

  constructor({ maximumBytes, onEnded }: { readonly maximumBytes: number; readonly onEnded: () => void }) {
    this.#maximumBytes = maximumBytes;
    this.#onEnded = onEnded;
  }

  /** Call it before an answer is sent. The newest answer stays, however long it is. */
  add(answer: Answer, { headers, body }: WholeResponse): void {
    const bytes = headBytes(headers) + body.length + answerOverheadBytes;
    this.#answers.set(answer, bytes);
    this.#bytes += bytes;
    if (this.#bytes <= this.#maximumBytes) return;
    for (const [oldest] of this.#answers) {
      if (this.#bytes <= this.#maximumBytes || oldest === answer) return;
      this.remove(oldest);
      oldest.destroy();
      this.#onEnded();
    }
  }

  /**
   * Ends streams that their clients do not read while streams and answers together exceed the limit: first those that were not read for the
   * longest time. The client sees a lost connection, after which it resumes its watch. Call it every second.
   */
  endUnread(exchanges: Iterable<Stream>, nowSecond: number): void {
    const unread: { readonly stream: Stream; readonly readAtSecond: number; readonly bytes: number }[] = [];
    let bytes = this.#bytes;
    for (const stream of exchanges) {
      if (!stream.isStream) continue;
      const readAtSecond = stream.readAtSecond(nowSecond);
      const waitingBytes = stream.bufferedBytes();
      bytes += waitingBytes;
      if (waitingBytes > 0 && nowSecond - readAtSecond >= patienceSeconds)
        unread.push({ stream, readAtSecond, bytes: waitingBytes });
    }
    if (bytes <= this.#maximumBytes) return;
    unread.sort((left, right) => left.readAtSecond - right.readAtSecond);
    for (const { stream, bytes: freedBytes } of unread) {
      if (bytes <= this.#maximumBytes) return;
      bytes -= freedBytes;
      stream.destroy();
      this.#onEnded();
    }
  }

  /** Call it when the answer is sent, or has ended otherwise. Does nothing for an answer that was not added. */
  remove(answer: Answer): void {
    this.#bytes -= this.#answers.get(answer) ?? 0;
    this.#answers.delete(answer);
  }
}
