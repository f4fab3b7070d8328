import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** The functions that make, change or remove files, or open them for that. */
const functions = [
  "mkdirSync",
  "openSync",
  "fchmodSync",
  "writeFileSync",
  "fsyncSync",
  "renameSync",
  "symlinkSync",
  "unlinkSync",
  "rmSync",
] as const;

/** Runs something with a disk that fails once: the call with this number, from 1, fails. Returns whether that call was made. */
export function failAtCall(number: number, run: () => void): boolean {
  let calls = 0;
  const originals = functions.map((name) => [name, fs[name]] as const);
  for (const [name, original] of originals) {
    Reflect.set(fs, name, (...words: unknown[]): unknown => {
      if (++calls === number) throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: "EIO" });
      return Reflect.apply(original, fs, words);
    });
  }
  syncBuiltinESMExports();
  try {
    run();
  } finally {
    for (const [name, original] of originals) Reflect.set(fs, name, original);
    syncBuiltinESMExports();
  }
  return calls >= number;
}
