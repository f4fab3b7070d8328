import { setTimeout as delay } from "node:timers/promises";

/**
 * Calls a function again and again until it returns something other than undefined or false, and returns that. Throws after 200 s: an
 * error that names what was waited for, with the function's last error as its cause.
 */
export async function eventually<T>(what: string, look: () => T | Promise<T>): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + 200_000;
  let fault: unknown = new Error(`this did not happen in time: ${what}`);
  do {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>; // both are excluded above
    } catch (error) {
      fault = new Error(`this did not happen in time: ${what}`, { cause: error });
    }
    await delay(20);
  } while (performance.now() < deadline);
  throw fault;
}
