import { setTimeout as delay } from "node:timers/promises";

/**
 * Asks, and waits a bounded time for the answer. Undefined: there was no answer, or none in time. While a question is open, it
 * is not asked again: the next caller waits for the same answer.
 */
export function boundedQuestion<T>(ask: () => T | Promise<T>, milliseconds: number): () => Promise<T | undefined> {
  let open: Promise<T | undefined> | undefined;
  return async () => {
    open ??= answerOf(ask).finally(() => (open = undefined));
    const timeout = new AbortController();
    const waited = delay(milliseconds, undefined, { signal: timeout.signal }).catch(() => undefined);
    try {
      return await Promise.race([open, waited]);
    } finally {
      timeout.abort();
    }
  };
}

async function answerOf<T>(ask: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
