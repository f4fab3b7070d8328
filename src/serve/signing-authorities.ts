import { statSync } from "node:fs";
import { UsageError } from "../cli/flag.ts";
import type { ServeOptions } from "../cli/serve-flags.ts";
import { loadCertificateAuthority } from "../pki/certificate-authority.ts";
import type { CertificateAuthority } from "../pki/certificate-authority.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { ClusterAuthority } from "./cluster-authority.ts";
import { parseSettingsFile, readSettingsFile } from "./settings-files.ts";

/** The CAs that sign requests. */
export interface SigningAuthorities {
  /** As the files are now. */
  authorityFor(signerName: string): CertificateAuthority;
  /** The certificates of all of them. */
  certificates(): readonly Certificate[];
}

/** The CA of `--cluster-signing-cert-file`, read again when its files change; without it, the server's own. */
export function openSigningAuthorities(options: ServeOptions, own: ClusterAuthority): SigningAuthorities {
  const certificateFile = options["cluster-signing-cert-file"];
  const keyFile = options["cluster-signing-key-file"];
  if (certificateFile === undefined && keyFile === undefined) {
    return { authorityFor: () => own, certificates: () => [own.certificate] };
  }
  if (certificateFile === undefined || keyFile === undefined) {
    throw new UsageError("--cluster-signing-cert-file and --cluster-signing-key-file go together");
  }
  const load = (): CertificateAuthority =>
    parseSettingsFile("cluster-signing-cert-file", certificateFile, (certificate) =>
      loadCertificateAuthority({ certificate, privateKey: readSettingsFile("cluster-signing-key-file", keyFile) }),
    );
  const version = (): string => `${statSync(certificateFile).mtimeMs}/${statSync(keyFile).mtimeMs}`;
  let loaded = { version: version(), authority: load() };
  const current = (): CertificateAuthority => {
    try {
      const now = version();
      if (now !== loaded.version) loaded = { version: now, authority: load() };
    } catch {
      // One of the two files is being replaced: the pair that fits is used until the new one does.
    }
    return loaded.authority;
  };
  return { authorityFor: current, certificates: () => [current().certificate] };
}
