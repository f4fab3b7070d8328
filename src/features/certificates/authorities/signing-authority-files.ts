import { loadSigningAuthority } from "./signing-authority.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import type { KeyPairFiles } from "../../../machinery/command-line/flag.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Reads a CA from its files, and again when they change. The returned function returns the CA of the current files.
 * While certificate and key do not match (one of the two is being replaced), it returns the last pair that matched.
 * Throws UsageError when they are not a CA at the start.
 */
export function openSigningAuthority(files: KeyPairFiles): () => SigningAuthority {
  const { certificateFlag, certificateFile, keyFlag, keyFile } = files;
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
