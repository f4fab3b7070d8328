/**
 * Changed requests of every kind against a running server; prints what it answered wrongly, each with the smallest request
 * that shows it.
 *
 *   npm run test:fuzz -- [--inputs N] [--seed N] [--first INDEX] [--kinds Role,Pod] [--profile platform|kubernetes]
 *                        [--in-process] [--loop-milliseconds N]
 *
 * Ctrl-C ends the run and reports what was found so far. An input is decided by the seed and its index: `--seed S --first I --inputs 1` makes one again, alone.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isGiven, oneOf, programFlags, randomSeed, text, wholeNumber } from "../../tools/program-flags.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { requestAsCurl, requestAsJson } from "./fuzz-request.ts";
import { runFuzz } from "./run-fuzz.ts";
import { startInProcessTarget } from "./targets/in-process-target.ts";
import { startProcessTarget } from "./targets/process-target.ts";

const {
  inputs: inputCount,
  seed,
  first,
  kinds,
  profile: onlyProfile,
  "in-process": inProcess,
  "loop-milliseconds": loopMilliseconds,
} = programFlags(import.meta.filename, {
  inputs: wholeNumber(1_000_000),
  seed: randomSeed(),
  first: wholeNumber(0),
  kinds: text(),
  profile: oneOf(["platform", "kubernetes"]),
  "in-process": isGiven(),
  "loop-milliseconds": wholeNumber(250),
});
const profiles: readonly Profile[] = onlyProfile === undefined ? ["platform", "kubernetes"] : [onlyProfile];
const inputs = Math.ceil(inputCount / profiles.length);
/** Caches fill and the heap finds its size: more than that does not come back. */
const allowedMebibytes = (early: number): number => early * 1.5 + 150;
/** A longer command line is useless, because the file holds the whole request. */
const maximumCurlCharacters = 2_000;

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
let findCount = 0;
let folder: string | undefined;
for (const profile of profiles) {
  if (interrupted.signal.aborted) break;
  console.log(`fuzz: ${inputs} inputs, seed ${seed}, profile ${profile}${inProcess ? ", in process" : ""}`);
  let told = 0;
  const { finds, statuses, residentMebibytes, slowestMilliseconds, ...report } = await runFuzz({
    profile,
    seed: seed,
    first: first,
    inputs,
    ...(kinds !== undefined && { kinds: kinds.split(",") }),
    loopMilliseconds: loopMilliseconds,
    signal: interrupted.signal,
    startTarget: inProcess ? startInProcessTarget : startProcessTarget,
    onProgress: (progress) => {
      if (progress.inputs - told < 20_000) return;
      told = progress.inputs;
      console.log(`  ${progress.inputs} inputs, ${progress.residentMebibytes.toFixed(0)} MiB, ${progress.finds} finds`);
    },
  });
  for (const { fault, index, count, request, answer } of finds) {
    console.error(
      `\n${fault} (${count} times, first: --profile ${profile} --seed ${seed} --first ${index} --inputs 1)`,
    );
    if (answer !== undefined) console.error(`  answer: ${answer}`);
    if (request === undefined) continue;
    const curl = requestAsCurl(request);
    if (curl.length <= maximumCurlCharacters) console.error(`  ${curl}`);
    folder ??= mkdtempSync(join(tmpdir(), "signet-fuzz-finds-"));
    const file = join(folder, `${profile}-${seed}-${index}.json`);
    writeFileSync(file, `${JSON.stringify({ fault, answer, request: requestAsJson(request) }, undefined, 2)}\n`);
    console.error(`  the whole request: ${file}`);
  }
  const { early, peak, afterwards } = residentMebibytes;
  const counts = [...statuses].sort(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`);
  console.log(
    `${report.inputs} inputs, ${finds.length} finds; answers ${counts.join(", ")}; resident ${early.toFixed(0)} MiB early, ` +
      `${peak.toFixed(0)} MiB at most, ${afterwards.toFixed(0)} MiB afterwards; slowest input ${slowestMilliseconds.toFixed(0)} ms of the main thread, ` +
      `longest wait of others ${report.longestWaitMilliseconds.toFixed(0)} ms`,
  );
  findCount += finds.length;
  if (afterwards > allowedMebibytes(early)) {
    console.error("the memory did not come back to its level");
    findCount += 1;
  }
}
process.exitCode = findCount === 0 ? 0 : 1;
