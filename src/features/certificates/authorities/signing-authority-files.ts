import { loadSigningAuthority } from "./signing-authority.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import type { AuthorityFiles } from "../settings.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Reads a CA from its files, and again when they change: the returned function gives it as the files are now. While they
 * do not fit (one of the two is being replaced) the last pair that did is used. Undefined when no file is given. Throws
 * UsageError when one is missing, or when they are not a CA to begin with.
 */
export function openSigningAuthority(files: AuthorityFiles): (() => SigningAuthority) | undefined {
  const { certificateFlag, certificateFile, keyFlag, keyFile } = files;
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined) {
    throw new UsageError(`--${certificateFlag} and --${keyFlag} go together`);
  }
  return followFiles({
    files: [certificateFile, keyFile],
    load: () =>
      parseSettingsFile(
        certificateFlag,
        certificateFile,
        (certificate) => loadSigningAuthority({ certificate, privateKey: readFollowedFile(keyFlag, keyFile) }),
        readFollowedFile,
      ),
  });
}
