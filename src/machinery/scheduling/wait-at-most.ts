/**
 * Waits for a promise, but no longer than so many milliseconds, and keeps the process alive until then. Resolves with undefined when the
 * time is over. Rejects as the promise does.
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
