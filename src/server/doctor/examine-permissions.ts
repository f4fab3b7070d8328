import { statSync } from "node:fs";
import type { Stats } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../machinery/api/thrown-error.ts";
import { shellWord } from "../../machinery/command-line/output/shell-word.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import { bad, good } from "./finding.ts";
import type { Finding } from "./finding.ts";
import type { NamedFiles } from "./named-files.ts";
import { dataDirectoryPaths } from "./data-directory-paths.ts";

/** Certificates and public keys may be read by everybody; all other files may hold secrets. */
const publicFile = /\.crt$|\.pub$|^client-authorities\.json$/;

/** Examines who owns the data directory, and who can read its secrets. */
export function examinePermissions(directory: string): Finding[] {
  const subject = "permissions";
  const { uid, mode } = statSync(directory);
  const findings: Finding[] = [];
  if ((mode & 0o022) !== 0) {
    findings.push(
      bad(subject, { found: `others can write to ${directory}`, advice: `chmod 700 ${shellWord(directory)}` }),
    );
  }
  for (const path of dataDirectoryPaths(directory)) {
    const file = join(directory, path);
    const status = statSync(file, { throwIfNoEntry: false });
    if (status === undefined) continue;
    // Root may own a file that a link leads to, because a server accepts such a file.
    const isOfRoot = status.uid === 0 && linkTarget(file) !== undefined;
    if (status.uid !== uid && !isOfRoot) {
      findings.push(
        bad(subject, {
          found: `${file} belongs to uid ${status.uid}, the folder to ${uid}`,
          advice: `chown ${uid} ${shellWord(file)}`,
        }),
      );
    }
    const isOpen = (status.mode & 0o077) !== 0;
    if (isOpen && !publicFile.test(path)) {
      const advice = `chmod 600 ${shellWord(file)}; if others may have read it, replace what is in it (docs/break-in.md)`;
      findings.push(bad(subject, { found: `others can read ${file}`, advice }));
    }
  }
  return findings.length > 0 ? findings : [good(subject, `only uid ${uid} can read what is secret in ${directory}`)];
}

/** The status of a file, or why it has none. */
function statusOrReason(file: string): Stats | string {
  try {
    const status = statSync(file);
    return status.isFile() ? status : "is no file";
  } catch (error) {
    return errorCode(error) === "ENOENT" ? "does not exist" : `cannot be used: ${fileFailureReason(error)}`;
  }
}

/** Examines who can read and write the files that settings name. A group may read secrets, because packages install them in that way. */
export function examineNamedFiles({ certificates, secrets }: NamedFiles): Finding[] {
  const subject = "permissions";
  return [...certificates, ...secrets].flatMap((file) => {
    const status = statusOrReason(file);
    // `examineCertificates` reports certificates that cannot be read.
    if (typeof status === "string") {
      const advice = "restore it, or change the setting";
      return secrets.includes(file) ? [bad(subject, { found: `${file} ${status}`, advice })] : [];
    }
    const findings: Finding[] = [];
    if ((status.mode & 0o002) !== 0)
      findings.push(bad(subject, { found: `others can write to ${file}`, advice: `chmod o-w ${shellWord(file)}` }));
    if (secrets.includes(file) && (status.mode & 0o004) !== 0) {
      const advice = `chmod o-r ${shellWord(file)}; if others may have read it, replace what is in it (docs/break-in.md)`;
      findings.push(bad(subject, { found: `others can read ${file}`, advice }));
    }
    return findings;
  });
}
