/** A file or folder that the caller named can't be used; the message is one line that says why and what to do. */
export class UnusableFile extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnusableFile";
  }
}

const reasons: Readonly<Record<string, string>> = {
  EPIPE: "its reader has gone",
  EACCES: "this user may not; run as its owner, or name another",
  EPERM: "this user may not; run as its owner, or name another",
  EROFS: "the file system is read-only; name a place on one that is not",
  ENOSPC: "no space is left on the disk; make room",
  EDQUOT: "the user's disk quota is used up; make room",
  ENOENT: "the folder does not exist and cannot be made there; name another",
  ENOTDIR: "a part of the path is a file and no folder; name another",
  EISDIR: "it is a folder; name a file",
  ENAMETOOLONG: "the name is too long; name a shorter one",
  ELOOP: "its links lead in a circle; name another",
};

/** What is wrong when the system refuses a file, and what to do about it. */
export function fileFailureReason(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
