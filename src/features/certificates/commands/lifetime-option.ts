import { Option } from "commander";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../requested-lifetime.ts";

/** An option whose value is a lifetime that a certificate can be requested for, in seconds. */
export const lifetimeOption = (flags: string, description: string): Option => {
  const option = new Option(flags, description);
  return option.argParser((text) => {
    const seconds = lifetimeSecondsOf(text);
    if (seconds !== undefined) return seconds;
    throw new UsageError(`${option.long ?? ""}: ${JSON.stringify(text)} ${lifetimeFault}`);
  });
};
