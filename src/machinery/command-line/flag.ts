import { parseDuration } from "../api/duration.ts";

/** One setting of the server: a command line flag, and a configuration file key with the same name. */
export type Flag =
  | { readonly type: "string"; readonly default?: string; readonly choices?: readonly string[]; readonly help: string }
  | { readonly type: "file"; readonly help: string }
  | { readonly type: "strings"; readonly default?: readonly string[]; readonly help: string }
  | { readonly type: "boolean"; readonly default: boolean; readonly help: string }
  | {
      readonly type: "integer";
      readonly default: number;
      readonly minimum: number;
      readonly maximum: number;
      readonly help: string;
    }
  | { readonly type: "duration"; readonly default?: string; readonly help: string };

/** The parsed value of a flag. Durations are milliseconds; `file` is a path. */
type ValueOf<F extends Flag> = F extends { type: "boolean" }
  ? boolean
  : F extends { type: "integer" }
    ? number
    : F extends { type: "strings" }
      ? readonly string[]
      : F extends { type: "duration" }
        ? F extends { default: string }
          ? number
          : number | undefined
        : F extends { default: string }
          ? string
          : string | undefined;

export type Flags = Readonly<Record<string, Flag>>;
export type FlagValues<F extends Flags> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** A flag or configuration key is wrong. Printed as one line; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
  }
}

/**
 * Converts raw values to typed ones. The command line takes precedence over the configuration file, and that over the
 * defaults. Throws UsageError for an unknown key or an invalid value.
 */
export function resolveFlags<F extends Flags>(
  flags: F,
  { commandLine, file }: { readonly commandLine: Record<string, unknown>; readonly file: Record<string, unknown> },
): FlagValues<F> {
  for (const key of Object.keys(file)) {
    if (!Object.hasOwn(flags, key)) throw new UsageError(`configuration file: unknown setting ${JSON.stringify(key)}`);
  }
  const values = Object.entries(flags).map(([name, flag]) => {
    const given = commandLine[name] !== undefined ? `--${name}` : `configuration file: ${name}`;
    const raw = commandLine[name] ?? file[name] ?? ("default" in flag ? flag.default : undefined);
    return [name, raw === undefined ? emptyValue(flag) : parseValue(flag, raw, given)];
  });
  return Object.fromEntries(values) as FlagValues<F>; // parseValue returns the type that ValueOf declares
}

const emptyValue = (flag: Flag): undefined | readonly string[] => (flag.type === "strings" ? [] : undefined);

function parseValue(flag: Flag, raw: unknown, given: string): unknown {
  const text = String(raw);
  const refuse = (wanted: string): never => {
    throw new UsageError(`${given}: ${JSON.stringify(raw)} is not ${wanted}`);
  };
  switch (flag.type) {
    case "boolean":
      return text === "true" ? true : text === "false" ? false : refuse("true or false");
    case "integer": {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= flag.minimum && value <= flag.maximum) return value;
      return refuse(`a whole number from ${flag.minimum} to ${flag.maximum}`);
    }
    case "duration":
      return parseDuration(text) ?? refuse("a duration such as 90s, 10m, 24h or 30d");
    case "strings":
      return (Array.isArray(raw) ? raw : [raw]).flatMap((one) => String(one).split(",")).filter((one) => one !== "");
    case "file":
      return text === "" ? refuse("a file name") : text;
    case "string":
      if (flag.choices !== undefined && !flag.choices.includes(text))
        return refuse(`one of ${flag.choices.join(", ")}`);
      return text;
  }
}
