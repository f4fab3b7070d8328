/** Sends requests all the time, counts their results, and records every failure. */
export class SteadyRequests {
  readonly failures: unknown[] = [];
  readonly #loops: Promise<void>[];
  #answers = 0;
  #isStopping = false;

  constructor(requests: readonly (() => Promise<unknown>)[]) {
    this.#loops = requests.map((request) => this.#repeat(request));
  }

  get answers(): number {
    return this.#answers;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#loops);
  }

  async #repeat(request: () => Promise<unknown>): Promise<void> {
    while (!this.#isStopping) {
      try {
        await request();
        this.#answers++;
      } catch (error) {
        this.failures.push(error);
      }
    }
  }
}
