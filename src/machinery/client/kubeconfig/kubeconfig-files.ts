import { readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { errorCode } from "../../api/thrown-error.ts";
import { fileFailureReason } from "../../files/unusable-file.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";

/** The largest file that is read. */
const largestBytes = 16 * 2 ** 20;

interface Reading {
  readonly isPipeRefused: boolean;
  readonly hasFlags: boolean;
}

/** Reads the text of a kubeconfig, in UTF-8 or in UTF-16, which `>` in Windows PowerShell writes. Throws KubeconfigError. */
export function readConfig(path: string, { isPipeRefused, hasFlags }: Reading): string {
  try {
    // A device may be endless. A pipe that is read only once is allowed: it may be `<(command)`.
    const status = statSync(path);
    if (status.isDirectory()) throw new KubeconfigError(`kubeconfig ${path} is a folder; name a file`);
    if (isPipeRefused && status.isFIFO()) {
      throw new KubeconfigError(
        `kubeconfig ${path} is a pipe; it may be read again, so write it to a file and name that`,
      );
    }
    if (status.isCharacterDevice() || status.size > largestBytes) {
      throw new KubeconfigError(`kubeconfig ${path} is a device, or larger than 16 MiB; name a kubeconfig`);
    }
    return decoded(readFileSync(path));
  } catch (cause) {
    if (cause instanceof KubeconfigError) throw cause;
    throw new KubeconfigError(`cannot read kubeconfig ${path}: ${reasonFor(cause, { hasFlags })}`, { cause });
  }
}

/** Decodes a text. A byte-order mark tells the byte order of UTF-16 (YAML 1.2, section 5.2); without one, the text is UTF-8. */
function decoded(bytes: Buffer): string {
  const mark = bytes.toString("latin1", 0, 2);
  const encoding = mark === "\xff\xfe" ? "utf-16le" : mark === "\xfe\xff" ? "utf-16be" : undefined;
  return encoding === undefined ? bytes.toString("utf8") : new TextDecoder(encoding).decode(bytes);
}

/** Relative names are relative to the kubeconfig. */
export const namedFile = (name: string, kubeconfig: string): string =>
  isAbsolute(name) ? name : join(dirname(kubeconfig), name);

/** Reads the text of a file that a kubeconfig names. Throws KubeconfigError. */
export function readNamedFile(name: string, kubeconfig: string): string {
  const file = namedFile(name, kubeconfig);
  try {
    const status = statSync(file);
    if (!status.isFile() || status.size > largestBytes) {
      throw new KubeconfigError(
        `kubeconfig ${kubeconfig} names ${file}, which is not a file of at most 16 MiB; name another one`,
      );
    }
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof KubeconfigError) throw cause;
    throw new KubeconfigError(
      `kubeconfig ${kubeconfig} names ${file}, which cannot be read: ${reasonFor(cause, { hasFlags: false })}`,
      {
        cause,
      },
    );
  }
}

function reasonFor(error: unknown, { hasFlags }: Pick<Reading, "hasFlags">): string {
  const another = hasFlags ? "name another with --kubeconfig" : "name another";
  switch (errorCode(error)) {
    case "ENOENT":
      return `there is no such file; ${another}`;
    case "EACCES":
      return `this user has no permission; run as its owner, or ${another}`;
    default:
      return fileFailureReason(error);
  }
}
