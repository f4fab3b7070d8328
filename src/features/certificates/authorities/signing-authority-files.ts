import { loadSigningAuthority } from "./signing-authority.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import type { KeyPairFiles } from "../../../machinery/command-line/flag.ts";
import type { FollowedFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Reads a CA from its files, and again when they change. The returned function returns the last pair that matched.
 * Throws UsageError when they are not a CA at the start.
 */
export function openSigningAuthority(files: KeyPairFiles, followed: FollowedFiles): () => SigningAuthority {
  const { certificateFlag, certificateFile, keyFlag, keyFile } = files;
  return followed.follow({
    setting: certificateFlag,
    files: () => [certificateFile, keyFile],
    load: () =>
      parseSettingsFile(
        certificateFlag,
        certificateFile,
        (certificate) => loadSigningAuthority({ certificate, privateKey: readFollowedFile(keyFlag, keyFile) }),
        readFollowedFile,
      ),
  });
}
