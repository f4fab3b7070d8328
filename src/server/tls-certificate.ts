import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import { periodically } from "../machinery/api/periodically.ts";
import type { ServingCertificate } from "../machinery/http/listener.ts";
import type { ClusterAuthority } from "../features/certificates/authorities/cluster-authority.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";
import { serverIdentity } from "../features/certificates/signers/server-identity.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";
import type { ListenerSettings } from "./listener-settings.ts";
import { openServingCertificate } from "./serving-certificate.ts";
import { readSettingsFile } from "../machinery/command-line/settings-files.ts";

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

export interface TlsCertificateOptions {
  readonly dataDirectory: string;
  readonly authority: ClusterAuthority;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookMilliseconds?: number;
}

/**
 * The given files' certificate, or the data directory's own. Throws UsageError for files that can't be read; when they can't
 * be read later, or do not fit each other, the last good certificate stays and the log says why at each look.
 */
export function openTlsCertificate(
  { certificate: files, names }: ListenerSettings,
  { dataDirectory, authority, clock, log, lookMilliseconds = intervalMilliseconds }: TlsCertificateOptions,
): TlsCertificate {
  const read = (): ServingCertificate => {
    if (files !== undefined) {
      const cert = readSettingsFile(files.certificateFlag, files.certificateFile);
      return { cert, key: readSettingsFile(files.keyFlag, files.keyFile) };
    }
    const { certificate, key } = openServingCertificate({ dataDirectory, authority, clock, names });
    return { cert: certificate, key };
  };
  const identify = ({ cert }: ServingCertificate): ServerIdentity =>
    serverIdentity({
      shown: parseCertificatesPem(cert),
      trusted: files === undefined ? [authority.certificate] : [],
      hosts: names,
    });
  let current = read();
  let identity = identify(current);
  let listener: (certificate: ServingCertificate) => void = () => {};
  const looks = periodically({
    milliseconds: lookMilliseconds,
    task() {
      const next = read();
      if (next.cert === current.cert && next.key === current.key) return;
      const nextIdentity = identify(next);
      // Throws for a key of another certificate: then the next look tries again.
      listener(next);
      identity = nextIdentity;
      current = next;
    },
    onFailure: (error) =>
      log.error({ err: error }, "could not renew the serving certificate, the last one stays in use"),
  });
  return {
    current: () => current,
    identity: () => identity,
    caCertificates: files === undefined ? authority.pem : current.cert,
    onRenewed: (next) => (listener = next),
    stop: () => looks.stop(),
  };
}
