import { existsSync, statSync } from "node:fs";
import { arch, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { systemClock, timestamp } from "../../machinery/api/clock.ts";
import { withoutUrlPasswords } from "../../machinery/api/addresses/without-url-passwords.ts";
import { exitCodes } from "../../machinery/command-line/command-failure.ts";
import { writePrivateOutput } from "../../machinery/command-line/output/output-file.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { ownerOf } from "../../machinery/files/folders/owned-folder.ts";
import { modeText } from "../../machinery/files/mode-text.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { examineServer } from "./examine-server.ts";
import type { Finding } from "./finding.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { parseStorageKey } from "../../machinery/registry/stored/storage-key.ts";
import { stateOf } from "../../machinery/storage/copy-objects.ts";
import { openExistingStore } from "../store/open-store.ts";
import { signetVersion } from "../signet-version.ts";
import { dataDirectoryPaths } from "./data-directory-paths.ts";
import { counted } from "../../machinery/command-line/output/counted.ts";
import { shellWord } from "../../machinery/command-line/output/shell-word.ts";

const words: Readonly<Record<Finding["state"], string>> = { good: "ok", warning: "warning", bad: "BAD" };

/** `signet doctor`: prints one line for each finding. The exit code is 1 when a finding is bad. */
export async function runDoctor(config: ServerConfig): Promise<void> {
  const findings = await examineServer(config, systemClock.now());
  for (const { state, subject, found, advice } of findings) {
    const line = `${words[state].padEnd(8)} ${subject.padEnd(14)} ${found}${advice === undefined ? "" : `: ${advice}`}`;
    console.log(printable(line));
  }
  const count = (state: Finding["state"]): number => findings.filter((finding) => finding.state === state).length;
  console.log(`${count("good")} ok, ${counted(count("warning"), "warning")}, ${count("bad")} bad`);
  if (count("bad") > 0) process.exitCode = exitCodes.refused.code;
}

/** `signet support-bundle`. */
export async function runSupportBundle(config: ServerConfig, file: string): Promise<void> {
  writePrivateOutput({ namedBy: "FILE", file }, await writeSupportBundle(config, systemClock.now()));
  console.log(
    `${printable(file)}: settings, findings, file names and numbers of objects; no keys, and no contents of objects`,
  );
  console.log(`  look through it before you give it away: zcat ${shellWord(file)}`);
}

/**
 * What others need to find out what is wrong with a server, as compressed JSON: versions, settings, findings, the names and sizes of files,
 * and the number of objects of each kind. Contains no contents of files or objects, and no names of objects except those in findings.
 */
export async function writeSupportBundle(config: ServerConfig, now: number): Promise<Buffer> {
  const { dataDirectory } = config;
  const contents = {
    format: "signet-support-bundle",
    version: 1,
    time: timestamp(now),
    signet: signetVersion,
    node: process.version,
    system: { platform: platform(), release: release(), architecture: arch(), memoryBytes: totalmem() },
    settings: shownSettings(config),
    findings: await examineServer(config, now),
    owner: ownerOf(dataDirectory),
    files: existsSync(dataDirectory)
      ? dataDirectoryPaths(dataDirectory).flatMap((path) => shownFile(dataDirectory, path))
      : [],
    objects: await objectCounts(config),
  };
  return gzipSync(`${JSON.stringify(contents, null, 2)}\n`);
}

/** The settings: plain values, and the paths of files. */
const shownSettings = (config: ServerConfig): unknown =>
  JSON.parse(
    JSON.stringify(config, (_key, value: unknown) => {
      if (value === config.names) return config.names.profile;
      if (value instanceof Set) return [...(value as ReadonlySet<unknown>)];
      return typeof value === "string" ? withoutUrlPasswords(value) : value;
    }),
  );

/** Describes a file of the data directory. Empty for a file that the server has just removed. */
function shownFile(directory: string, path: string): object[] {
  const status = statSync(join(directory, path), { throwIfNoEntry: false });
  if (status === undefined) return [];
  const { size, mode, uid, mtime } = status;
  return [{ path, size, mode: modeText(mode), uid, changed: mtime.toISOString() }];
}

/** The number of objects of each kind, by the resource in their keys. */
async function objectCounts(config: ServerConfig): Promise<Readonly<Record<string, number>> | string> {
  try {
    const { store } = await openExistingStore(config);
    try {
      const counts = new Map<string, number>();
      for await (const { key } of (await stateOf(store, { showsDamaged: true })).objects()) {
        const resource = parseStorageKey(key)?.resource;
        if (resource === undefined) continue; // the records of keys are no objects
        counts.set(resource, (counts.get(resource) ?? 0) + 1);
      }
      return Object.fromEntries(counts);
    } finally {
      await store.close();
    }
  } catch (error) {
    return messageOf(error);
  }
}
