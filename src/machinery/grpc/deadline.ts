export interface DeadlineOptions {
  readonly milliseconds: number;
  /** The socket over which the awaited data comes. */
  readonly connection: { readonly receivedBytes: number };
  /** Called at most once for each start. */
  readonly onOver: () => void;
}

/** One read of a socket takes 64 KiB, and Linux keeps 6 MiB of a connection at most, unless it is set up otherwise. */
const maximumLastReads = 100;

/**
 * A time limit for what a connection brings. Time in which this process is busy does not count against the other side: the
 * wait begins once the requests of this turn of the event loop are written, and ends once all that has arrived is read.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  #immediate: NodeJS.Immediate;
  #timer: NodeJS.Timeout | undefined;

  /** Make it after the request: its requests are written first then. */
  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.#immediate = setImmediate(() => this.restart());
  }

  /** The whole time begins anew. */
  restart(): void {
    this.clear();
    this.#timer = setTimeout(() => this.#readOn(maximumLastReads), this.#options.milliseconds);
    // The connection keeps the process running.
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
