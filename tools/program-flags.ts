import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";

/** A flag of a program, or the words that belong to no flag. `read` throws an Error that says what is wrong with the value. */
interface ProgramFlag<Value> {
  /** What follows the flag on a command line. */
  readonly takes: "a value" | "nothing" | "words";
  /** The text after the flag is `undefined` when the flag is not given. */
  readonly read: (given: string | undefined, words: readonly string[]) => Value;
}

type FlagValues<Flags extends Readonly<Record<string, ProgramFlag<unknown>>>> = {
  readonly [Name in keyof Flags]: ReturnType<Flags[Name]["read"]>;
};

/** A flag that takes a whole number, 0 or more. */
export const wholeNumber = (byDefault: number): ProgramFlag<number> => ({
  takes: "a value",
  read: (given = String(byDefault)) => {
    if (!/^\d{1,15}$/.test(given)) throw new Error(`takes a whole number, not ${JSON.stringify(given)}`);
    return Number(given);
  },
});

/** A random number that differs in each run. A run with the same number does the same. */
export const randomSeed = (): ProgramFlag<number> => wholeNumber(Date.now() % 1_000_000);

/** A flag that takes any text, such as the path of a file. */
export const text = <const Default extends string | undefined = undefined>(
  byDefault?: Default,
): ProgramFlag<string | Default> => ({
  takes: "a value",
  read: (given) => given ?? (byDefault as Default), // without a default, it is undefined
});

/** A flag that takes any text and must be given. */
export const neededText = (): ProgramFlag<string> => ({
  takes: "a value",
  read: (given) => {
    if (given === undefined) throw new Error("is needed");
    return given;
  },
});

/** A flag that takes one of these words. */
export const oneOf = <const Word extends string, const Default extends Word | undefined = undefined>(
  choices: readonly Word[],
  byDefault?: Default,
): ProgramFlag<Word | Default> => ({
  takes: "a value",
  read: (given) => {
    if (given === undefined) return byDefault as Default; // without a default, it is undefined
    const word = choices.find((one) => one === given);
    if (word === undefined) throw new Error(`takes one of ${choices.join(", ")}, not ${JSON.stringify(given)}`);
    return word;
  },
});

/** A flag that takes no value. */
export const isGiven = (): ProgramFlag<boolean> => ({ takes: "nothing", read: (given) => given !== undefined });

/** The words that belong to no flag, such as files to read, and all words after `--`. */
export const words = (): ProgramFlag<readonly string[]> => ({ takes: "words", read: (_, given) => given });

/**
 * Reads the flags of a program for developers, such as a benchmark. `file` is the program's own, and starts with a comment that says
 * what the program does and which flags it has: `--help` prints this comment. A wrong command line ends the program, as `refuse` does.
 */
export function programFlags<const Flags extends Readonly<Record<string, ProgramFlag<unknown>>>>(
  file: string,
  flags: Flags,
): FlagValues<Flags> {
  const all = Object.entries(flags);
  const types: Record<string, { readonly type: "string" | "boolean" }> = { help: { type: "boolean" } };
  for (const [name, { takes }] of all) {
    if (takes !== "words") types[name] = { type: takes === "nothing" ? "boolean" : "string" };
  }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: all.some(([, { takes }]) => takes === "words"),
      options: types,
    });
    if (values["help"] === true) {
      console.log(usageOf(file));
      process.exit(0);
    }
    const read = all.map(([name, flag]) => {
      const given = values[name];
      try {
        return [name, flag.read(given === undefined ? undefined : String(given), positionals)];
      } catch (error) {
        throw new Error(`--${name} ${(error as Error).message}`, { cause: error }); // flags throw nothing else
      }
    });
    return Object.fromEntries(read) as FlagValues<Flags>; // each name has the value that its flag read
  } catch (error) {
    return refuse(file, (error as Error).message); // parseArgs throws nothing else
  }
}

/** Prints what is wrong with the command line of a program, and the comment at the top of its file. Ends the program with 2. */
export function refuse(file: string, message: string): never {
  console.error(`${basename(file)}: ${message}\n\n${usageOf(file)}`);
  process.exit(2);
}

/** The comment at the top of a file, without its stars. */
function usageOf(file: string): string {
  const source = readFileSync(file, "utf8");
  const lines = source.slice("/**\n".length, source.indexOf("\n */")).split("\n");
  return lines.map((line) => line.replace(/^ \* ?/, "")).join("\n");
}
