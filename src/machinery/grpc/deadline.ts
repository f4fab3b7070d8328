interface DeadlineOptions {
  readonly milliseconds: number;
  /** The connection over which the awaited data comes. */
  readonly connection: { readonly receivedBytes: number };
  /** Called at most once for each start. */
  readonly onOver: () => void;
}

/** Enough to read all that has arrived: a read takes 64 KiB, and by default Linux buffers at most 6 MiB of a connection. */
const maximumLastReads = 100;

/**
 * A time limit for data from a connection. Time in which this process is busy does not count against the other side: the wait begins when
 * the requests of this turn of the event loop are written, and ends when all arrived data is read.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  #immediate: NodeJS.Immediate;
  #timer: NodeJS.Timeout | undefined;

  /** Create it after the request, so that the request is written before the wait begins. */
  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.#immediate = setImmediate(() => this.restart());
  }

  /** Starts the time limit again from the beginning. */
  restart(): void {
    this.clear();
    this.#timer = setTimeout(() => this.#readOn(maximumLastReads), this.#options.milliseconds);
    // The timer need not keep the process running, because the connection does.
    this.#timer.unref();
  }

  clear(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
  }

  /** After a long turn of the event loop, Node.js runs timers before it reads sockets. An immediate runs after both. */
  #readOn(reads: number): void {
    const { connection, onOver } = this.#options;
    const { receivedBytes } = connection;
    this.#immediate = setImmediate(() => {
      if (reads === 1 || connection.receivedBytes === receivedBytes) onOver();
      else this.#readOn(reads - 1);
    });
  }
}
