import { Option } from "commander";
import { parseDuration } from "../api/duration.ts";
import { UsageError } from "./flag.ts";

/** An option that may be repeated. Its value is a list, or undefined. */
export const repeatedOption = (flags: string, description: string): Option =>
  new Option(flags, `${description}; may be repeated`).argParser((value: string, previous: unknown) => [
    ...((previous as readonly string[] | undefined) ?? []), // what this function returned before
    value,
  ]);

/** An option whose value is a duration, in milliseconds. */
export const durationOption = (flags: string, description: string): Option => {
  const option = new Option(flags, description);
  return option.argParser((text) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== undefined) return milliseconds;
    throw new UsageError(
      `${option.long ?? ""}: ${JSON.stringify(text)} is not a duration such as 90s, 10m, 24h or 30d`,
    );
  });
};

export const secondsOf = (milliseconds: number): number => Math.round(milliseconds / 1000);
