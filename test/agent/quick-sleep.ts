import { setTimeout as delay } from "node:timers/promises";
import type { Sleep } from "../../src/machinery/api/clock.ts";

/** A heartbeat every ten seconds is one every twenty milliseconds here. */
export const quickSleep: Sleep = async (milliseconds, signal) => {
  await delay(milliseconds / 500, undefined, { signal }).catch(() => {}); // a sleep that is ended is no failure
};
