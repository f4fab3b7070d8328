import { wellKnownSigners } from "../../features/certificates/signers/well-known-signers.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import type { ServerAuthorities } from "../server-authorities.ts";
import type { TlsCertificate } from "../tls/tls-certificate.ts";

interface NeededCertificates {
  readonly authorities: Pick<ServerAuthorities, "own" | "signing" | "configuredSigners">;
  /** The certificate that the listener presents. */
  readonly certificate: Pick<TlsCertificate, "current">;
}

/** When each certificate expires that a server needs, in milliseconds since the epoch, by a name for people. */
export function authorityEnds(
  names: Names,
  { authorities: { own, signing, configuredSigners }, certificate }: NeededCertificates,
): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  const add = (name: string, needed: Certificate | undefined): void => {
    if (needed !== undefined) ends.set(name, needed.notAfter);
  };
  add("server CA", own.server.current().certificate);
  add("serving certificate", parseCertificatesPem(certificate.current().cert)[0]);
  for (const signer of wellKnownSigners) {
    const name = signer.nameIn(names);
    add(`CA of ${name}`, signing.authorityFor(name)?.certificate);
  }
  for (const signer of configuredSigners()) add(`CA of ${signer.name}`, signer.authority()?.certificate);
  return ends;
}
