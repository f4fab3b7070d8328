import { Option } from "commander";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../requested-lifetime.ts";

/** An option for the lifetime of a requested certificate, in seconds. */
export const lifetimeOption = (flags: string, description: string): Option => {
  const option = new Option(flags, description);
  return option.argParser((text) => {
    const seconds = lifetimeSecondsOf(text);
    if (seconds !== undefined) return seconds;
    throw new UsageError(`${option.long ?? ""}: ${JSON.stringify(text)} ${lifetimeFault}`);
  });
};
