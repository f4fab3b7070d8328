import { setTimeout as delay } from "node:timers/promises";
import type { Sleep } from "../../src/machinery/api/clock.ts";

/** Sleeps for so small a part of the time: with 500, heartbeats come every twenty milliseconds instead of every ten seconds. */
export const shortenedSleep =
  (part: number): Sleep =>
  async (milliseconds, signal) => {
    await delay(milliseconds / part, undefined, { signal }).catch(() => {}); // a sleep that is ended is no failure
  };
