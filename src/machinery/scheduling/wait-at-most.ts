/**
 * Waits for a promise, and at most for so many milliseconds, in which the process stays alive. Resolves with undefined when they are over;
 * rejects as the promise does.
 */
export async function waitAtMost<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  // Not Promise.withResolvers: agents wait here too, and Node.js 20 has none.
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, milliseconds, undefined)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
