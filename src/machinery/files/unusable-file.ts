import { messageOf, errorCode } from "../api/thrown-error.ts";

/** A file or folder that the caller named cannot be used. The message is one line with the reason and what to do. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
}

const notOfThisFileSystem = "its file system cannot do that; name a place on another";

const reasons: Readonly<Record<string, string>> = {
  EPIPE: "its reader is gone",
  EACCES: "this user has no permission; run as its owner, or name another",
  EPERM: "this user has no permission, or it is immutable (lsattr); run as its owner, or name another",
  EROFS: "the file system is read-only; mount it for writing, or name a place on another",
  EBUSY:
    "it is in use, or mounted by itself, as a file of a container may be; mount its folder in the place of the file",
  EIO: "the disk fails (i/o error); see what the system logs of it, and name a place on another",
  ENOSPC: "no space is left on the disk, or none for more files (df -i); make room",
  EDQUOT: "the user's disk quota is used up; make room",
  EFBIG: "no file may be so large there (ulimit -f); raise the limit, or name another place",
  EMFILE: "this process has as many open files as it may have (ulimit -n); raise the limit",
  ENFILE: "the system has as many open files as it may have (fs.file-max); close others, or raise the limit",
  ENOENT: "the folder does not exist; make it, or name another",
  ENOTDIR: "a part of the path is a file, not a folder; name another",
  EISDIR: "it is a folder; name a file",
  ENXIO: "it is a socket, a device that is not there, or a pipe that nothing reads; start its reader, or name a file",
  ENAMETOOLONG: "the name is too long; name a shorter one",
  ENOSYS: notOfThisFileSystem,
  ENOTSUP: notOfThisFileSystem,
  ELOOP: "its symbolic links form a loop; name another",
};

/** Explains why a file cannot be read, and what to do. */
export const unreadableFileReason = (error: unknown): string =>
  errorCode(error) === "ENOENT" ? "there is no such file; name another" : fileFailureReason(error);

/** Explains why a symbolic link cannot be made: FAT refuses all with EPERM (symlink(2)), and FUSE with ENOSYS. */
export const linkFailureReason = (error: unknown): string =>
  ["EPERM", "ENOSYS", "ENOTSUP"].includes(errorCode(error))
    ? "its file system has no symbolic links, or its folder is protected; name a place on another"
    : fileFailureReason(error);

/** Whether an error is the system's refusal of a file or a folder that it names. The message of such an error does not say what to do. */
export const namesPath = (error: unknown): error is Error & { readonly path: string } =>
  error instanceof Error && "path" in error && typeof error.path === "string";

/**
 * Explains why the system refused a file, and what to do. Does not name the file, because its name in the error may be temporary: the
 * caller names it.
 */
export const fileFailureReason = (error: unknown): string =>
  reasons[errorCode(error)] ?? messageOf(error).replace(/, [a-z_]+ '.*'$/s, "");

/** An error of the system as an UnusableFile: `what` is before the reason. An UnusableFile stays as it is. */
export const asUnusableFile = (what: string, error: unknown): UnusableFile =>
  error instanceof UnusableFile ? error : new UnusableFile(`${what}: ${fileFailureReason(error)}`, { cause: error });
