import { durationFault, parseDuration } from "../../api/duration.ts";
import { CommandFailure } from "../command-failure.ts";
import { didYouMean } from "../did-you-mean.ts";

/** One setting of the server: a command line flag, and a configuration file key with the same name. */
export type Flag =
  | {
      readonly type: "string";
      readonly default?: string;
      readonly choices?: readonly string[];
      readonly help: string;
      /** Whether SIGHUP applies a new value. Without it, a new value needs a restart. */
      readonly isReloadable?: true;
    }
  | {
      readonly type: "file";
      readonly help: string;
      /** Whether the file is read again when it changes, and on SIGHUP. A new name needs a restart. */
      readonly isFollowed?: true;
    }
  | {
      readonly type: "strings";
      readonly default?: readonly string[];
      readonly choices?: readonly string[];
      readonly help: string;
      /** Whether the texts are names of files that are read again when they change. */
      readonly isFollowed?: true;
      /** Whether commas are part of a text. Then each text needs a flag of its own, or an entry of a list in the file. */
      readonly hasCommasInTexts?: true;
    }
  | { readonly type: "boolean"; readonly default: boolean; readonly help: string }
  | {
      readonly type: "integer";
      readonly default: number;
      readonly minimum: number;
      readonly maximum: number;
      readonly help: string;
    }
  | { readonly type: "duration"; readonly default?: string; readonly help: string };

/** A text of a flag: one of its choices where it has any. */
type TextOf<F extends Flag> = F extends { choices: readonly (infer Choice extends string)[] } ? Choice : string;

/** The parsed value of a flag. Durations are milliseconds; `file` is a path. */
type ValueOf<F extends Flag> = F extends { type: "boolean" }
  ? boolean
  : F extends { type: "integer" }
    ? number
    : F extends { type: "strings" }
      ? readonly TextOf<F>[]
      : F extends { type: "duration" }
        ? F extends { default: string }
          ? number
          : number | undefined
        : F extends { default: string }
          ? TextOf<F>
          : TextOf<F> | undefined;

export type Flags = Readonly<Record<string, Flag>>;
export type FlagValues<F extends Flags> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** A flag, an argument, a configuration key or an input file is wrong. */
export class UsageError extends CommandFailure {
  override readonly name = "UsageError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, { exit: "usage", cause: options?.cause });
  }
}

/** Raw values by the names of the flags, before they are parsed. */
export interface GivenFlags {
  readonly commandLine: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly file: Readonly<Record<string, unknown>>;
  /** The name of that file, for messages. */
  readonly fileName?: string;
}

/**
 * Converts raw values to typed ones. The command line takes precedence over the environment, the environment over the configuration file,
 * and the file over the defaults. Throws UsageError for an unknown key or an invalid value.
 */
export function resolveFlags<F extends Flags>(
  flags: F,
  { commandLine, environment = {}, file, fileName }: GivenFlags,
): FlagValues<F> {
  const inFile = nameOfFile(fileName);
  for (const key of Object.keys(file)) {
    if (Object.hasOwn(flags, key)) continue;
    const unknown = `unknown setting ${JSON.stringify(key)}${didYouMean(key, Object.keys(flags))}`;
    throw new UsageError(`${inFile}: ${unknown}; --help shows those that there are`);
  }
  const values = Object.entries(flags).map(([name, flag]) => {
    const given =
      commandLine[name] !== undefined
        ? `--${name}`
        : environment[name] !== undefined
          ? environmentName(name)
          : `${inFile}: ${name}`;
    const raw = commandLine[name] ?? environment[name] ?? file[name] ?? ("default" in flag ? flag.default : undefined);
    return [name, raw === undefined ? emptyValue(flag) : parseValue(flag, { raw, given })];
  });
  return Object.fromEntries(values) as FlagValues<F>; // parseValue returns the type that ValueOf declares
}

/** Makes settings of given values. `make` checks them further. Throws UsageError, as `withOrigin` does. */
export function settingsOf<F extends Flags, T>(
  flags: F,
  { given, make }: { readonly given: GivenFlags; readonly make: (values: FlagValues<F>) => T },
): T {
  const values = resolveFlags(flags, given);
  try {
    return make(values);
  } catch (error) {
    throw withOrigin(error, given);
  }
}

/**
 * The error to throw when given values cannot be used. The message of a UsageError names flags. If such a flag is not on the command line,
 * the message then also says what sets it. Any other error stays as it is.
 */
export function withOrigin(error: unknown, given: GivenFlags): unknown {
  if (!(error instanceof UsageError)) return error;
  const unquoted = error.message.replaceAll(/"(?:[^"\\]|\\.)*"/g, ""); // a value may look like a flag
  const named = new Set(Array.from(unquoted.matchAll(/--([a-z][a-z0-9-]*)/g), ([, name = ""]) => name));
  const origins = [...named].flatMap((name) => originOf(name, given) ?? []);
  if (origins.length === 0) return error;
  return new UsageError(`${error.message} (${origins.join("; ")})`, { cause: error.cause });
}

/** Says what sets a flag. Undefined when the command line does, or nothing. */
function originOf(name: string, { commandLine, environment = {}, file, fileName }: GivenFlags): string | undefined {
  if (commandLine[name] !== undefined) return undefined;
  if (environment[name] !== undefined) return `${environmentName(name)} sets --${name}`;
  return file[name] === undefined ? undefined : `${nameOfFile(fileName)} sets --${name}`;
}

const nameOfFile = (fileName: string | undefined): string =>
  fileName === undefined ? "configuration file" : `--config: ${fileName}`;

const emptyValue = (flag: Flag): undefined | readonly string[] => (flag.type === "strings" ? [] : undefined);

/** `given` names the origin of the value, for messages. */
function parseValue(flag: Flag, { raw, given }: { readonly raw: unknown; readonly given: string }): unknown {
  const fail = (fault: string): never => {
    throw new UsageError(`${given}: ${JSON.stringify(raw)} ${fault}`);
  };
  const refuse = (wanted: string): never => {
    return fail(`is not ${wanted}`);
  };
  const refuseEmpty = (): never => {
    throw new UsageError(`${given} is empty; give a value, or leave it out (is a shell variable not set?)`);
  };
  const isList = flag.type === "strings" && Array.isArray(raw);
  // Without this check, a list or a mapping in the file would become a text such as "[object Object]", and a folder of that name.
  if ((isList ? raw : [raw]).some((one) => typeof one === "object")) {
    refuse(flag.type === "strings" ? "one value or a list of values" : "one value");
  }
  const text = String(raw);
  switch (flag.type) {
    case "boolean":
      return text === "true" ? true : text === "false" ? false : refuse("true or false");
    case "integer": {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= flag.minimum && value <= flag.maximum) return value;
      return refuse(`a whole number from ${flag.minimum} to ${flag.maximum}`);
    }
    case "duration":
      return parseDuration(text) ?? fail(durationFault(text));
    case "strings": {
      const texts = (isList ? raw : [raw])
        .flatMap((one) => (flag.hasCommasInTexts ? [String(one)] : String(one).split(",")))
        .filter((one) => one !== "");
      // In the file, a list may be empty on purpose.
      if (texts.length === 0 && !(isList && raw.length === 0)) refuseEmpty();
      return texts.map((one) => chosen(flag, { text: one, given }));
    }
    case "file":
      return text === "" ? refuseEmpty() : text;
    case "string":
      return text === "" ? refuseEmpty() : chosen(flag, { text, given });
  }
}

function chosen(
  { choices }: { readonly choices?: readonly string[] },
  { text, given }: { readonly text: string; readonly given: string },
): string {
  if (choices === undefined || choices.includes(text)) return text;
  throw new UsageError(`${given}: ${JSON.stringify(text)} is not one of ${choices.join(", ")}`);
}

/** The files of a certificate and its private key, which two flags name. */
export interface KeyPairFiles {
  /** The names of the flags, for messages. */
  readonly certificateFlag: string;
  readonly certificateFile: string;
  readonly keyFlag: string;
  readonly keyFile: string;
}

/** Undefined when neither file is given. Throws UsageError when only one is. */
export function keyPairFiles<CertificateFlag extends string, KeyFlag extends string>(
  values: Readonly<Record<CertificateFlag | KeyFlag, string | undefined>>,
  { certificateFlag, keyFlag }: { readonly certificateFlag: CertificateFlag; readonly keyFlag: KeyFlag },
): KeyPairFiles | undefined {
  const { [certificateFlag]: certificateFile, [keyFlag]: keyFile } = values;
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile !== undefined && keyFile !== undefined) {
    return { certificateFlag, certificateFile, keyFlag, keyFile };
  }
  throw new UsageError(`--${certificateFlag} and --${keyFlag} go together: give both, or neither`);
}

const environmentPrefix = "SIGNET_";

/** The environment variable of a setting: `SIGNET_SECURE_PORT` for `secure-port`. */
export const environmentName = (flag: string): string =>
  `${environmentPrefix}${flag.toUpperCase().replaceAll("-", "_")}`;

/** Warns of variables whose names are nearly those of settings: they set nothing. */
export function warnOfMisspelledVariables(
  names: Iterable<string>,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const known = new Set(Array.from(names, environmentName));
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(environmentPrefix) || known.has(variable)) continue;
    const meant = didYouMean(variable, known);
    if (meant !== "") console.error(`warning: ${variable} is no setting${meant}`);
  }
}

/**
 * The values of flags that environment variables give. Other variables with this prefix are left alone: a Kubernetes cluster
 * with a Service named signet sets some in every Pod. An empty variable gives nothing.
 */
export function environmentFlags(
  names: Iterable<string>,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of names) {
    const value = environment[environmentName(name)];
    if (value !== undefined && value !== "") given[name] = value;
  }
  return given;
}
