/**
 * Starts a new server, replays the recorded conversations against it and prints how many answers match.
 *
 * npm run conformance -- [--profile platform|kubernetes] [--only TEXT] [--show N] [--level status|body|exact]
 * [--parallel N] [--json FILE] [vector files]
 *
 * The exit code is 1 when a score is below its floor in `floors.json`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import { basename, join } from "node:path";
import { oneOf, programFlags, text, wholeNumber, words } from "../../tools/program-flags.ts";
import { startTemporaryServer } from "../test-server.ts";
import { converse } from "./conversation.ts";
import type { StepResult, Target } from "./conversation.ts";
import { profileNames } from "./profile-names.ts";
import type { Scenario } from "./scenario.ts";
import { differences, levels, score, view } from "./score.ts";
import type { Level, Score } from "./score.ts";

const here = import.meta.dirname;
const { profile, only, show, level, parallel, json, positionals } = programFlags(import.meta.filename, {
  profile: oneOf(["platform", "kubernetes"], "platform"),
  only: text(""),
  show: wholeNumber(20),
  level: oneOf(levels, "body"),
  parallel: wholeNumber(4),
  json: text(),
  positionals: words(),
});
const vectors = join(here, "vectors");
const files = positionals.length > 0 ? positionals : readdirSync(vectors).map((file) => join(vectors, file));

type Tally = Record<Level | "steps", number>;
const noTally = (): Tally => ({ steps: 0, status: 0, body: 0, exact: 0 });
const floors = JSON.parse(readFileSync(join(here, "floors.json"), "utf8")) as Record<
  string,
  Partial<Record<Level, number>>
>;

// The recorded server knows no second spelling.
const settings = profile === "platform" ? { "upstream-names": false } : {};
const server = await startTemporaryServer({ profile, settings });
const target: Target = {
  server: new URL(server.url),
  agent: new https.Agent({ keepAlive: true, maxSockets: 64, ca: server.caCertificates }),
  adminToken: server.adminToken,
  names: profileNames[profile],
  fixtures: new Map(
    readdirSync(join(here, "fixtures")).map((file) => [file, readFileSync(join(here, "fixtures", file))]),
  ),
};

const total = noTally();
const byFile = new Map<string, Tally>();
const differing: unknown[] = [];
for (const file of files) {
  const tally = noTally();
  const scenarios = (JSON.parse(readFileSync(file, "utf8")) as Scenario[]).filter(({ name }) => name.includes(only));
  const queue = scenarios.values();
  const work = async (): Promise<void> => {
    for (const scenario of queue) count(scenario, await converse(scenario, target), tally, basename(file));
  };
  await Promise.all(Array.from({ length: parallel }, work));
  for (const key of ["steps", ...levels] as const) total[key] += tally[key];
  byFile.set(basename(file), tally);
  if (tally.steps > 0) console.log(line(basename(file), tally));
}
console.log(line("all", total));
if (json !== undefined) writeFileSync(json, JSON.stringify({ total, differences: differing }, null, 1));
target.agent.destroy();
await server.stop();
if (total.steps === 0) console.error(`no scenario has a name that holds ${JSON.stringify(only)}`);
process.exitCode = total.steps > 0 && areFloorsHeld() ? 0 : 1;

function count(scenario: Scenario, results: readonly StepResult[], tally: Tally, file: string): void {
  for (const { index, step, actual } of results) {
    tally.steps++;
    const agreed: Score =
      "error" in actual || step.expect === undefined
        ? { status: false, body: false, exact: false }
        : score(step.expect, actual);
    for (const one of levels) if (agreed[one]) tally[one]++;
    if (agreed[level]) continue;
    differing.push({ file, scenario: scenario.name, index, step, actual });
    if (differing.length <= show) print(scenario, { index, step, actual });
  }
  const expected = scenario.steps.filter((step) => step.expect !== undefined).length;
  tally.steps += Math.max(0, expected - results.filter(({ step }) => step.expect !== undefined).length);
}

function print(scenario: Scenario, { index, step, actual }: StepResult): void {
  const where =
    "error" in actual || step.expect === undefined
      ? [JSON.stringify(actual)]
      : differences(
          JSON.parse(JSON.stringify(view(step.expect, level))),
          JSON.parse(JSON.stringify(view(actual, level))),
        );
  console.log(`✗ ${scenario.name} · step ${index} ${step.method ?? "GET"} ${step.path ?? step.watchCollect ?? ""}`);
  for (const one of where.slice(0, 12)) console.log(`    ${one}`);
}

function line(name: string, tally: Tally): string {
  const percent = (n: number): string => `${((100 * n) / Math.max(1, tally.steps)).toFixed(1)}%`;
  return `${name}: ${tally.steps} answers · ${levels.map((one) => `${one} ${percent(tally[one])}`).join(" · ")}`;
}

/** The floors are the scores that were reached: a change that lowers one fails. */
function areFloorsHeld(): boolean {
  if (only !== "") return true;
  let areHeld = true;
  for (const [pattern, wanted] of Object.entries(floors)) {
    const matching = [...byFile].filter(([file]) => file.startsWith(pattern)).map(([, tally]) => tally);
    const steps = matching.reduce((sum, tally) => sum + tally.steps, 0);
    if (steps === 0) continue;
    for (const [one, floor] of Object.entries(wanted) as [Level, number][]) {
      const reached = (100 * matching.reduce((sum, tally) => sum + tally[one], 0)) / steps;
      if (reached >= floor) continue;
      areHeld = false;
      console.error(`below its floor: ${pattern}* ${one} ${reached.toFixed(1)}% < ${floor}%`);
    }
  }
  return areHeld;
}
