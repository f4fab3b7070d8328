import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../machinery/api/thrown-error.ts";
import { freeBytesIn } from "../../machinery/storage/backends/disk-room.ts";
import { irregularFiles } from "../data-directory/data-directory-files.ts";
import { unfinishedRestore } from "../data-directory/data-directory-places.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { dataDirectoryPaths } from "./data-directory-paths.ts";

const smallestFreeBytes = 256 * 2 ** 20;

/** The files that a server writes or locks at each start, also through links. */
const openedAtStart = ["admin.kubeconfig", "admin.pem", "serving.pem", "owner.json", "owner.lock", "members.lock"];

/** Finds folders, pipes and broken links in place of files. */
export const examineIrregularFiles = (directory: string): Finding[] => [
  ...irregularFiles(directory).map(({ path, kind }) =>
    bad("files", {
      found: `${path} is ${kind}`,
      advice: "put back the file, or remove what is there: no server starts with it",
    }),
  ),
  ...openedAtStart.flatMap((name) => examineOpenedFile(join(directory, name))),
];

function examineOpenedFile(path: string): Finding[] {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return [];
  } catch (error) {
    if (errorCode(error) !== "ELOOP") {
      const found = `${path}: ${fileFailureReason(error)}`;
      return [bad("files", { found, advice: "no server of this user starts with it" })];
    }
  }
  return [bad("files", { found: `${path} is no file`, advice: "remove it: no server starts with it" })];
}

/** Finds files with times in the future: the clock was ahead when they were written, or is behind now. */
export function examineClock(directory: string, now: number): Finding {
  const ahead = dataDirectoryPaths(directory)
    .map((path) => join(directory, path))
    .find((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > now + 60_000);
  if (ahead === undefined) return good("clock", `${new Date(now).toISOString()}; no file is newer`);
  return bad("clock", {
    found: `${ahead} was written later than now`,
    advice: "set this machine's clock (timedatectl)",
  });
}

/** Examines the free space, and what interrupted commands left behind. */
export function examineDisk(directory: string): Finding[] {
  const freeBytes = freeBytesIn(directory);
  const found =
    freeBytes === undefined
      ? `the file system of ${directory} does not say what is free`
      : `${Math.floor(freeBytes / 2 ** 20)} MiB are free for ${directory}`;
  const space =
    freeBytes !== undefined && freeBytes < smallestFreeBytes
      ? warning("disk", { found, advice: "make room: a full disk refuses all writes" })
      : good("disk", found);
  if (!existsSync(unfinishedRestore(directory))) return [space];
  return [
    space,
    bad("disk", {
      found: `a restore into ${directory} is not complete`,
      advice: "wait for it, or, if it broke off, remove the folder and restore again",
    }),
  ];
}
