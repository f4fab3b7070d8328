import { hostname } from "node:os";
import { isIP } from "node:net";
import { join } from "node:path";
import type { OwnCertificateOptions } from "../../features/certificates/authorities/issue-own-certificate.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import type { PemKeyPair } from "../../pki/key-stores/pem-key-pair.ts";
import { loadOrIssueCertificate } from "./load-or-issue-certificate.ts";

const lifetimeMilliseconds = 365 * 24 * 3_600_000;
/** A certificate is renewed when less than a third of its lifetime is left. */
const renewalMilliseconds = lifetimeMilliseconds / 3;

/** The names of the server: loopback, the machine's own, and the configured ones. */
function servingNames(more: readonly string[]): { dnsNames: string[]; ipAddresses: string[] } {
  const names = [...new Set(["localhost", hostname(), "127.0.0.1", "::1", ...more])].filter(
    (name) => name !== "0.0.0.0" && name !== "::",
  );
  return {
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: names.filter((name) => isIP(name) !== 0),
  };
}

interface ServingCertificateOptions extends Omit<OwnCertificateOptions, "lifetimeMilliseconds"> {
  readonly dataDirectory: string;
  /** Names in addition to loopback and the machine's own. */
  readonly names: readonly string[];
  /** Whether the certificate is revoked, and must be replaced. */
  readonly isRevoked: (certificate: Certificate) => boolean;
}

/** The data directory's serving certificate (`serving.pem`). */
export function openServingCertificate({ dataDirectory, names, ...options }: ServingCertificateOptions): PemKeyPair {
  const wanted = servingNames(names);
  return loadOrIssueCertificate(
    {
      subject: { commonName: "signet" },
      extendedKeyUsages: ["serverAuth"],
      subjectAltNames: { ...wanted, emailAddresses: [], uris: [] },
    },
    {
      ...options,
      file: join(dataDirectory, "serving.pem"),
      lifetimeMilliseconds,
      isStillGood: ({ subjectAltNames: { dnsNames, ipAddresses } }, leftMilliseconds) =>
        leftMilliseconds > renewalMilliseconds &&
        wanted.dnsNames.every((name) => dnsNames.includes(name)) &&
        wanted.ipAddresses.every((address) => ipAddresses.includes(address)),
    },
  );
}
