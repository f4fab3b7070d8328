import { authorityFileName } from "../../features/certificates/authorities/cluster-authorities.ts";
import type { CertificateSettings } from "../../features/certificates/settings.ts";
import { parseSignerConfiguration } from "../../features/certificates/signers/parse-signer-configuration.ts";
import { wellKnownSigners } from "../../features/certificates/signers/well-known-signers.ts";
import { parseSettingsFile, readCertificates } from "../../machinery/command-line/settings-files.ts";
import type { Certificate } from "../../pki/certificate.ts";

/** A CA in files that settings name. Only the operator replaces it. */
export interface OperatorAuthority {
  /** As `signet ca list` has it: what the CA of the data directory is called in whose place it signs, or its signer. */
  readonly name: string;
  readonly certificateFile: string;
  /** The flag that names the files, or the file in which they are named. */
  readonly flag: string;
}

/** The CAs in the operator's files. Throws UsageError for a `--signer-config` that can't be used. */
export function operatorAuthorities(settings: CertificateSettings): readonly OperatorAuthority[] {
  const { authority, authorityOf, signerConfigurationFile } = settings;
  const ofFlags = wellKnownSigners.flatMap(({ shortName }): OperatorAuthority[] => {
    const files = authorityOf[shortName] ?? authority;
    if (files === undefined) return [];
    const { certificateFile, certificateFlag: flag } = files;
    return [{ name: authorityFileName(shortName), certificateFile, flag }];
  });
  return signerConfigurationFile === undefined ? ofFlags : [...ofFlags, ...ofConfiguration(signerConfigurationFile)];
}

function ofConfiguration(file: string): OperatorAuthority[] {
  const flag = "signer-config";
  const signers = parseSettingsFile(flag, file, (text) => parseSignerConfiguration(text, file));
  return signers.flatMap(({ name, certificateAuthority: from }) =>
    from.type === "files" ? [{ name, certificateFile: from.certificateFile, flag }] : [],
  );
}

/** The certificate of such a CA, without its chain. Throws UsageError for a file that can't be used. */
export function certificateOf({ flag, certificateFile }: OperatorAuthority): Certificate {
  const [certificate] = readCertificates(flag, certificateFile);
  if (certificate === undefined) throw new Error("a file without certificates was read"); // readCertificates refuses it
  return certificate;
}
