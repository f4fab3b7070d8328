import { systemClock } from "../../machinery/api/clock.ts";
import { writePrivateOutput } from "../../machinery/command-line/output-file.ts";
import { printable } from "../../machinery/command-line/printable.ts";
import type { ServerConfig } from "../server-config.ts";
import { examineServer } from "./examine-server.ts";
import type { Finding } from "./finding.ts";
import { writeSupportBundle } from "./support-bundle.ts";

const words: Readonly<Record<Finding["state"], string>> = { good: "ok", warning: "warning", bad: "BAD" };

/** `signet doctor`: prints one line for each finding. The exit code is 1 when something is bad. */
export async function runDoctor(config: ServerConfig): Promise<void> {
  const findings = await examineServer(config, systemClock.now());
  for (const { state, subject, found, advice } of findings) {
    const line = `${words[state].padEnd(8)} ${subject.padEnd(14)} ${found}${advice === undefined ? "" : `: ${advice}`}`;
    console.log(printable(line));
  }
  const count = (state: Finding["state"]): number => findings.filter((finding) => finding.state === state).length;
  console.log(`${count("good")} ok, ${count("warning")} warnings, ${count("bad")} bad`);
  if (count("bad") > 0) process.exitCode = 1;
}

/** `signet support-bundle`. */
export async function runSupportBundle(config: ServerConfig, file: string): Promise<void> {
  writePrivateOutput({ flag: "file", file }, await writeSupportBundle(config, systemClock.now()));
  console.log(`${file}: settings, findings, file names and numbers of objects; no keys, and no contents of objects`);
  console.log(`  look through it before you give it away: zcat ${file}`);
}
