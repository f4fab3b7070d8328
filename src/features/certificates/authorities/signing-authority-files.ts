import { loadSigningAuthority } from "./signing-authority.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import type { KeyPairFiles } from "../../../machinery/command-line/flag.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Reads a CA from its files, and again when they change: the returned function gives it as the files are now. While they
 * do not fit (one of the two is being replaced) the last pair that did is used. Throws UsageError when they are not a CA to
 * begin with.
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
