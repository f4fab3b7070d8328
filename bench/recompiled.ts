/**
 * Names the functions that V8 optimises again and again while a server answers requests. The machine code of a function that is made for
 * each request is lost with the last of these functions, at the next full garbage collection, and then made anew: up to a tenth of
 * a second of a core for a large one.
 *
 *   npm run bench:recompiled -- [--requests N] [--only WORKLOAD]
 */
import { oneOf, programFlags, wholeNumber } from "../tools/program-flags.ts";
import { workloadNames } from "./load/workloads.ts";
import { inspectWorkloads } from "./profile/inspected-server.ts";

const { requests, only } = programFlags(import.meta.filename, {
  requests: wholeNumber(20_000),
  only: oneOf(workloadNames),
});
const manyTimes = 3;

let trace = "";
await inspectWorkloads(
  {
    requests,
    runtimeFlags: ["--trace-opt", "--trace-file-names"],
    ...(only !== undefined && { only }),
    onSpawned: (server) => server.stdout?.on("data", (part: Buffer) => (trace += part.toString())),
  },
  async ({ name, load }) => {
    trace = "";
    await load();
    const functions = [...compilationsIn(trace)].sort(([, a], [, b]) => b.milliseconds - a.milliseconds);
    const milliseconds = functions.reduce((sum, [, compiled]) => sum + compiled.milliseconds, 0);
    console.log(`${name}: ${((milliseconds * 1000) / requests).toFixed(1)} µs of V8's compilers a request`);
    for (const [place, { times, milliseconds }] of functions) {
      if (times >= manyTimes) console.log(`  ${times} times, ${milliseconds.toFixed(0)} ms: ${place}`);
    }
  },
);

interface Compilations {
  readonly times: number;
  readonly milliseconds: number;
}

/** What V8 compiled, by function. */
function compilationsIn(output: string): Map<string, Compilations> {
  const compilations = new Map<string, Compilations>();
  for (const [, place = "", ...parts] of output.matchAll(
    /completed compiling \S+ <JSFunction (.*?) \(sfi = \w+\)> \(target \w+\) - took ([\d.]+), ([\d.]+), ([\d.]+) ms/g,
  )) {
    const { times, milliseconds } = compilations.get(place) ?? { times: 0, milliseconds: 0 };
    const took = parts.reduce((sum, part) => sum + Number(part), 0);
    compilations.set(place, { times: times + 1, milliseconds: milliseconds + took });
  }
  return compilations;
}
