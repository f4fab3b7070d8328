import { createSecureContext } from "node:tls";
import type { Log } from "../../machinery/logging/log.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import type { ListenerTls } from "../../machinery/http/connections/listener.ts";
import type { ServingCertificate, TlsProtocol } from "../../machinery/http/connections/serving-context.ts";
import type { RotatableAuthority } from "../../features/certificates/authorities/rotatable-authority.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import type { RevocationSettings } from "../../features/certificates/settings.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { serverIdentity } from "../../features/certificates/signers/server-identity.ts";
import type { ServerIdentity } from "../../features/certificates/signers/server-identity.ts";
import type { ListenerSettings } from "../settings/listener-settings.ts";
import { leafOf } from "./load-or-issue-certificate.ts";
import { openServingCertificate } from "./serving-certificate.ts";
import { readServingPair } from "./read-serving-pair.ts";
import type { NamedCertificates } from "./named-certificates.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { KeyPairFiles } from "../../machinery/command-line/settings/flag.ts";
import type { TlsProtocolSettings } from "./tls-protocol-settings.ts";

/** The serving certificate of the listener. */
export interface TlsCertificate {
  current(): ServingCertificate;
  /** TLS versions, suites and groups, and the certificates for server names. */
  readonly tls: ListenerTls;
  /** PEM of the CAs with which clients verify the certificate, now and after the next change of the CA. */
  caCertificates(): string;
  /** Calls `listener` after each change of `caCertificates`. It must not throw. */
  onCaChange(listener: () => void): void;
  /** The names in the certificates, and the address in the kubeconfig. */
  identity(): ServerIdentity;
  /** Called with each new certificate. There can be only one callback. */
  onRenewed(listener: (certificate: ServingCertificate) => void): void;
  /** Replaces the certificate of the data directory if it is revoked. */
  renewRevoked(): void;
  stop(): void;
}

/** How often to check whether the generated certificate expires soon. */
const renewalMilliseconds = 60_000;

interface TlsCertificateOptions {
  readonly dataDirectory: string;
  readonly authority: Pick<RotatableAuthority, "current" | "onChange">;
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  /** Whether the certificate of the data directory is revoked, and must be replaced. */
  readonly isRevoked: (certificate: Certificate) => boolean;
  /** Where revocation lists and OCSP are served. Undefined: nowhere. */
  readonly revocation: RevocationSettings | undefined;
}

/**
 * Opens the serving certificate, from the configured files or the data directory, and the certificates for server names. Rejects with
 * UsageError for files that cannot be read. When files cannot be read later, or certificate and key do not match, the last good certificate
 * stays in use.
 */
export async function openTlsCertificate(
  { certificate: files, names, namedCertificates, tls }: ListenerSettings,
  options: TlsCertificateOptions,
): Promise<TlsCertificate> {
  const { followed, log } = options;
  const { protocol } = tls;
  checkGroups(protocol);
  const named =
    namedCertificates.length > 0
      ? (await import("./named-certificates.ts")).openNamedCertificates(namedCertificates, { protocol, followed })
      : undefined;
  const main =
    files === undefined ? certificateOfDirectory(names, options) : certificateOfFiles(files, { names, followed });
  for (const warning of tlsWarnings(tls, main.current())) log.warn({}, warning);
  return {
    ...main,
    tls: { protocol, contextFor: named?.contextFor },
    identity: () => (named === undefined ? main.identity() : withNamed(main.identity(), named)),
  };
}

/** The certificate for clients that send no server name. */
type MainCertificate = Omit<TlsCertificate, "tls">;

interface FollowFilesOptions {
  readonly names: readonly string[];
  readonly followed: FollowedFiles;
}

function certificateOfFiles(files: KeyPairFiles, { names, followed }: FollowFilesOptions): MainCertificate {
  const identify = ({ cert }: ServingCertificate): ServerIdentity =>
    serverIdentity({ shown: parseCertificatesPem(cert), trusted: [], hosts: names });
  const first = followed.follow({
    setting: files.certificateFlag,
    files: () => [files.certificateFile, files.keyFile],
    load: () => readServingPair(files).certificate,
    onChange: (next) => inUse.replace(next),
    describe: (one) => ({ notAfter: notAfterOf(one) }),
  })();
  const inUse = new CertificateInUse(first, identify);
  return {
    current: () => inUse.current,
    identity: () => inUse.identity,
    caCertificates: () => inUse.current.cert,
    onCaChange: (listener) => inUse.onChange(listener),
    onRenewed: (listener) => inUse.onReplaced(listener),
    renewRevoked() {},
    stop() {},
  };
}

function certificateOfDirectory(
  names: readonly string[],
  { dataDirectory, authority, clock, log, isRevoked, revocation }: TlsCertificateOptions,
): MainCertificate {
  const read = (): ServingCertificate => {
    const issuer = authority.current();
    const opening = { dataDirectory, authority: issuer, clock, names, isRevoked, revocation };
    const { certificate, key } = openServingCertificate(opening);
    return { cert: certificate, key };
  };
  const identify = ({ cert }: ServingCertificate): ServerIdentity =>
    serverIdentity({ shown: parseCertificatesPem(cert), trusted: authority.current().anchors, hosts: names });
  const inUse = new CertificateInUse(read(), identify);
  const renew = (): void => {
    try {
      const next = read();
      if (next.cert === inUse.current.cert) return inUse.identifyAgain();
      inUse.replace(next);
      log.info({ notAfter: notAfterOf(next) }, "serving certificate renewed");
    } catch (error) {
      log.error({ err: error }, "could not renew the serving certificate, the last one stays in use");
    }
  };
  authority.onChange(renew);
  const renewals = periodically({ milliseconds: renewalMilliseconds, task: renew, onFailure: () => {} });
  return {
    current: () => inUse.current,
    identity: () => inUse.identity,
    caCertificates: () => authority.current().bundlePem,
    onCaChange: (listener) => authority.onChange(listener),
    onRenewed: (listener) => inUse.onReplaced(listener),
    renewRevoked() {
      if (leafOf(inUse.current.cert).some(isRevoked)) renew();
    },
    stop: () => renewals.stop(),
  };
}

/** A certificate, its names, and the callbacks for its replacement. */
class CertificateInUse {
  current: ServingCertificate;
  identity: ServerIdentity;
  readonly #identify: (certificate: ServingCertificate) => ServerIdentity;
  #present: (certificate: ServingCertificate) => void = () => undefined;
  readonly #listeners = new Set<() => void>();

  constructor(first: ServingCertificate, identify: (certificate: ServingCertificate) => ServerIdentity) {
    this.current = first;
    this.identity = identify(first);
    this.#identify = identify;
  }

  /** There can be only one callback. */
  onReplaced(present: (certificate: ServingCertificate) => void): void {
    this.#present = present;
  }

  /** Calls `listener` after each replacement. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Replaces the certificate. Throws when the key does not match, and then changes nothing. */
  replace(next: ServingCertificate): void {
    const identity = this.#identify(next);
    this.#present(next);
    this.identity = identity;
    this.current = next;
    for (const listener of this.#listeners) listener();
  }

  /** Computes the identity again, because the CAs of the certificate may have changed. */
  identifyAgain(): void {
    this.identity = this.#identify(this.current);
  }
}

const withNamed = (
  { names: { dnsNames, ipAddresses }, certificates }: ServerIdentity,
  named: NamedCertificates,
): ServerIdentity => ({
  names: { dnsNames: [...dnsNames, ...named.names()], ipAddresses },
  certificates: [...certificates, ...named.certificates()],
});

const notAfterOf = ({ cert }: ServingCertificate): string => timestamp(parseCertificatesPem(cert)[0]?.notAfter ?? 0);

/** Throws UsageError when this Node.js was built with an OpenSSL that lacks one of the groups. */
function checkGroups({ ecdhCurve }: TlsProtocol): void {
  if (ecdhCurve === undefined) return;
  for (const group of ecdhCurve.split(":")) {
    try {
      createSecureContext({ ecdhCurve: group, ca: [] });
    } catch (cause) {
      const library = `OpenSSL ${process.versions.openssl}`;
      throw new UsageError(`--tls-curve-preferences: ${library} of this Node.js has no ${group}: leave it out`, {
        cause,
      });
    }
  }
}

/** Warns of clients that cannot connect with this choice of suites for TLS 1.2. */
export function tlsWarnings(
  { protocol, keysOfTls12, isHttp2AllowedWithTls12 }: TlsProtocolSettings,
  { cert }: ServingCertificate,
): string[] {
  if (protocol.minVersion === "TLSv1.3") return [];
  const algorithm = parseCertificatesPem(cert)[0]?.publicKey.algorithm;
  // Ed25519 keys sign in the suites of ECDSA (RFC 8422 5.1.1).
  const isKeyUsable = algorithm === undefined || keysOfTls12.has(algorithm === "RSA" ? "RSA" : "ECDSA");
  return [
    ...(isHttp2AllowedWithTls12
      ? []
      : [
          "--tls-cipher-suites has only suites that HTTP/2 forbids (RFC 9113 appendix A): clients with TLS 1.2 may refuse HTTP/2; add one with GCM or CHACHA20",
        ]),
    ...(isKeyUsable
      ? []
      : [
          `--tls-cipher-suites has no suite for the ${algorithm} key of the serving certificate: clients with TLS 1.2 cannot connect`,
        ]),
  ];
}
