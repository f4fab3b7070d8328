import type { Names } from "../../machinery/api/names.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import type { CertificateSettings } from "../../features/certificates/settings.ts";
import { runningSigners } from "../../features/certificates/signers/running-signers.ts";
import type { RunningSigners } from "../../features/certificates/signers/running-signers.ts";
import { openSignerConfiguration } from "../../features/certificates/signers/signer-configuration.ts";
import type { ConfiguredSigner } from "../../features/certificates/signers/signer-configuration.ts";
import type { SigningAuthorityFilesOptions } from "../../features/certificates/authorities/signing-authority-files.ts";
import { clientSigners, openAuthorities } from "../../features/certificates/authorities/signing-authorities.ts";

export interface RemoteSigners {
  readonly signers: RunningSigners;
  readonly configured: () => readonly ConfiguredSigner[];
}

interface RemoteSignersOptions extends SigningAuthorityFilesOptions {
  readonly names: Names;
  /** The CAs that the server trusts for the certificates of clients. Undefined: the server does not tell them. */
  readonly trustedByServer: () => readonly Certificate[] | undefined;
}

/** Opens the signers whose CAs are in files of this machine. Other CAs are only in the server's own data directory. */
export function openRemoteSigners(
  certificates: CertificateSettings,
  { names, trustedByServer, ...reading }: RemoteSignersOptions,
): RemoteSigners {
  const authorityFor = openAuthorities({ ...reading, names, settings: certificates });
  const configured = openSignerConfiguration({
    ...reading,
    file: certificates.signerConfigurationFile,
    generated: { type: "refused", reason: "only signet serve has a data directory: set certificateFile and keyFile" },
    clientAuthorities() {
      const ofFlags = clientSigners(names).flatMap((name) => authorityFor(name)?.path ?? []);
      const trusted = trustedByServer();
      return trusted && [...trusted, ...ofFlags];
    },
  });
  const signers = runningSigners({
    names,
    authorityFor,
    configured,
    maximumLifetimeSeconds: Math.floor(certificates.maximumLifetimeMilliseconds / 1000),
    // Servers answer OCSP only for CAs whose keys they have, so certificates of these CAs name no OCSP address.
    revocation: certificates.revocation && { ...certificates.revocation, hasOcsp: false },
  });
  return { signers, configured };
}

/** Opens the publisher of the signers' revocation lists. Loaded only with `--revocation-url`. */
export async function openListPublisher(
  { revocation }: CertificateSettings,
  { signers, configured }: RemoteSigners,
): Promise<Controller | undefined> {
  if (revocation === undefined) return undefined;
  const { revocationListPublisher } = await import("../../features/certificates/status/revocation-list-publisher.ts");
  return revocationListPublisher({
    settings: revocation,
    authorities: () => signers.names().flatMap((name) => signers.find(name)?.authority ?? []),
    configuredSigners: configured,
  });
}
