import { Option } from "commander";
import { durationFault, parseDuration } from "../api/duration.ts";
import { UsageError } from "./settings/flag.ts";
import { keyTypes } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";

/** An option that may be repeated. Its value is a list, or undefined. */
export const repeatedOption = (flags: string, description: string): Option =>
  new Option(flags, `${description}; may be repeated`).argParser((value: string, previous: unknown) => [
    ...((previous as readonly string[] | undefined) ?? []), // the earlier result of this function
    value,
  ]);

/** An option whose value is a duration, in milliseconds. */
export const durationOption = (flags: string, description: string): Option => {
  const option = new Option(flags, description);
  return option.argParser((text) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== undefined) return milliseconds;
    throw new UsageError(`${option.long ?? ""}: ${JSON.stringify(text)} ${durationFault(text)}`);
  });
};

export const secondsOf = (milliseconds: number): number => Math.round(milliseconds / 1000);

/** By their names in commands, such as `ecdsa-p256`. */
const namedKeyTypes: ReadonlyMap<string, KeyType> = new Map(
  keyTypes.map((type) => [type.toLowerCase().replace(" p-", "-p").replace(" ", "-"), type]),
);

/** `--key-type`. Its value is a KeyType. */
export const keyTypeOption = (): Option => {
  const names = [...namedKeyTypes.keys()];
  return new Option("--key-type <type>", "the type of a new key")
    .choices(names)
    .argParser((text): KeyType => {
      const type = namedKeyTypes.get(text);
      if (type !== undefined) return type;
      throw new UsageError(`--key-type: ${JSON.stringify(text)} is not one of ${names.join(", ")}`);
    })
    .default("ECDSA P-256" satisfies KeyType, "ecdsa-p256");
};
