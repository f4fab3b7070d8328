import type { PresentedCredential } from "../../../machinery/authentication/presented-credential.ts";
import { fingerprintOf, serialNumberHex } from "../../../pki/certificate.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";

const known = new WeakMap<Certificate, PresentedCredential>();

/** What identifies a client's certificate. Computed once for each connection: its certificate is parsed once. */
export function certificateIdentity(leaf: Certificate): PresentedCredential {
  const ready = known.get(leaf);
  if (ready !== undefined) return ready;
  const identity: PresentedCredential = {
    type: "certificate",
    fingerprint: fingerprintOf(leaf),
    serialNumber: serialNumberHex(leaf),
    issuer: formatDistinguishedName(leaf.issuer),
    subject: formatDistinguishedName(leaf.subject),
    notBefore: leaf.notBefore,
  };
  known.set(leaf, identity);
  return identity;
}
