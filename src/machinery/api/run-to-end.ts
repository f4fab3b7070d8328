/** Runs all steps of a generator without a pause between them, and returns its result. */
export function runToEnd<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
