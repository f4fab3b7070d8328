import type { Environment } from "@marcbachmann/cel-js";
import type { Duration } from "@marcbachmann/cel-js/evaluator";
import { addFunctions } from "../add-functions.ts";
import { spendSteps } from "../cost-budget.ts";
import { nanosecondsOf } from "./time-text.ts";

/** Finding the time in a time zone takes as long as this many steps. */
const stepsOfTimeZone = 500;
const longestTimeZone = 64;

/** A time whose UTC clock reads what the zone's clock shows at `time`: `Europe/Berlin`, `+02:30`. */
function inTimeZone(time: Date, zone: string): Date {
  if (zone === "") return time;
  const offset = /^([+-]?\d{1,2}):(\d{1,2})$/.exec(zone);
  if (offset !== null) {
    const [, hours = "", minutes = ""] = offset;
    const sign = hours.startsWith("-") ? -1 : 1;
    return new Date(time.getTime() + (Number(hours) * 60 + sign * Number(minutes)) * 60_000);
  }
  spendSteps(stepsOfTimeZone);
  if (zone.length > longestTimeZone || /^[+-]/.test(zone)) throw new Error("unknown time zone");
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(time);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((one) => one.type === type)?.value ?? 0);
  const shown = new Date(time.getTime());
  shown.setUTCFullYear(part("year"), part("month") - 1, part("day"));
  shown.setUTCHours(part("hour"), part("minute"), part("second"));
  return shown;
}

function dayOfYear(time: Date): number {
  const first = new Date(time.getTime());
  first.setUTCMonth(0, 1);
  return Math.round((time.getTime() - first.getTime()) / 86_400_000);
}

const readers: Readonly<Record<string, (time: Date) => number>> = {
  getFullYear: (time) => time.getUTCFullYear(),
  getMonth: (time) => time.getUTCMonth(),
  getDate: (time) => time.getUTCDate(),
  getDayOfMonth: (time) => time.getUTCDate() - 1,
  getDayOfWeek: (time) => time.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (time) => time.getUTCHours(),
  getMinutes: (time) => time.getUTCMinutes(),
  getSeconds: (time) => time.getUTCSeconds(),
  getMilliseconds: (time) => time.getUTCMilliseconds(),
};

const units: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
};

/** CEL's functions for the parts of timestamps and durations. */
export function addTimeFunctions(environment: Environment): void {
  const [timestamp, duration] = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
  for (const [name, read] of Object.entries(readers)) {
    addFunctions(environment, {
      [`${timestamp}.${name}(): int`]: (time: Date) => BigInt(read(time)),
      [`${timestamp}.${name}(string): int`]: (time: Date, zone: string) => BigInt(read(inTimeZone(time, zone))),
    });
  }
  for (const [name, unit] of Object.entries(units)) {
    addFunctions(environment, { [`${duration}.${name}(): int`]: (value: Duration) => nanosecondsOf(value) / unit });
  }
  addFunctions(environment, {
    [`${duration}.getMilliseconds(): int`]: (value: Duration) => nanosecondsOf(value) / 1_000_000n,
  });
}
