import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { fingerprintOf, serialNumberHex } from "../../../pki/certificate.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { createCertificateVerifier } from "./certificate-verifier.ts";
import type { CertificateVerifierOptions } from "./certificate-verifier.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import type { Credential } from "../../../machinery/authentication/credential.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import type { PresentedCredential } from "../../../machinery/authentication/presented-credential.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";

interface ClientCertificateOptions extends CertificateVerifierOptions {
  readonly names: Names;
}

/**
 * Authenticates a client certificate: the common name is the user, the organizations are the groups (upstream:
 * `x509.CommonNameUserConversion`). A certificate without a common name does not authenticate.
 */
export function clientCertificate(options: ClientCertificateOptions): Credential {
  const verify = createCertificateVerifier(options);
  const credentialId = options.names.subdomainKey("authentication", "credential-id");
  const users = new WeakMap<Certificate, UserInfo>();

  const userOf = (leaf: Certificate): UserInfo => {
    const known = users.get(leaf);
    if (known !== undefined) return known;
    const user: UserInfo = {
      username: leaf.subject.commonName,
      groups: leaf.subject.organizations,
      extra: { [credentialId]: [`X509SHA256=${fingerprintOf(leaf)}`] },
    };
    users.set(leaf, withCredential(user, certificateIdentity(leaf)));
    return user;
  };

  return {
    name: "client certificate",
    headers: { names: [], prefixes: [] },
    authenticate({ connection: { peerCertificates } }) {
      if (peerCertificates.length === 0) return notApplicable;
      const answer = verify(peerCertificates);
      if (!answer.isTrusted) return refused(answer.reason);
      return answer.leaf.subject.commonName === ""
        ? notApplicable
        : { outcome: "authenticated", user: userOf(answer.leaf) };
    },
  };
}

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
