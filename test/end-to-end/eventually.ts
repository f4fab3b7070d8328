import { setTimeout as delay } from "node:timers/promises";

/**
 * Looks again and again until there is an answer other than undefined, false or an error, and returns it. Throws the last
 * error, or one that names what was waited for, after 200 s.
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
