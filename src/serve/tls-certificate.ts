import type { Clock } from "../api/clock.ts";
import { UsageError } from "../cli/flag.ts";
import type { ServeOptions } from "../cli/serve-flags.ts";
import type { ServingCertificate } from "../server/listener.ts";
import type { ClusterAuthority } from "./cluster-authority.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";
import { serverIdentity } from "../signers/server-identity.ts";
import type { ServerIdentity } from "../signers/server-identity.ts";
import { openServingCertificate } from "./serving-certificate.ts";
import { readSettingsFile } from "./settings-files.ts";

/** The certificate that the listener shows. */
export interface TlsCertificate {
  current(): ServingCertificate;
  /** PEM of what clients verify it with. */
  readonly caCertificates: string;
  /** What the certificate says, and where clients are told to find the server. */
  identity(): ServerIdentity;
  /** Called with each new certificate; there is one listener. */
  onRenewed(listener: (certificate: ServingCertificate) => void): void;
  stop(): void;
}

/** How often a certificate is looked at: files may have changed, or the end may have come near. */
const intervalMilliseconds = 60_000;

/** The given files' certificate, or the data directory's own. Throws UsageError for files that can't be read. */
export function openTlsCertificate(
  options: ServeOptions,
  { authority, clock }: { readonly authority: ClusterAuthority; readonly clock: Clock },
): TlsCertificate {
  const certificateFile = options["tls-cert-file"];
  const keyFile = options["tls-private-key-file"];
  if ((certificateFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  }
  const hosts = [options["bind-address"], options["advertise-address"] ?? "", ...options["tls-san"]].filter(
    (host) => host !== "",
  );
  const read = (): ServingCertificate => {
    if (certificateFile !== undefined && keyFile !== undefined) {
      const cert = readSettingsFile("tls-cert-file", certificateFile);
      return { cert, key: readSettingsFile("tls-private-key-file", keyFile) };
    }
    const { certificate, key } = openServingCertificate({
      dataDirectory: options["data-dir"],
      authority,
      clock,
      names: hosts,
    });
    return { cert: certificate, key };
  };
  const identify = ({ cert }: ServingCertificate): ServerIdentity =>
    serverIdentity({
      shown: parseCertificatesPem(cert),
      trusted: certificateFile === undefined ? [authority.certificate] : [],
      hosts,
    });
  let current = read();
  let identity = identify(current);
  let listener: (certificate: ServingCertificate) => void = () => {};
  const timer = setInterval(() => {
    const next = read();
    if (next.cert === current.cert && next.key === current.key) return;
    identity = identify(next);
    current = next;
    listener(next);
  }, intervalMilliseconds);
  timer.unref();
  return {
    current: () => current,
    identity: () => identity,
    caCertificates: certificateFile === undefined ? authority.pem : current.cert,
    onRenewed: (next) => (listener = next),
    stop: () => clearInterval(timer),
  };
}
