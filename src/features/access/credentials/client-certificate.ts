import { computedOnce } from "../../../machinery/api/computed-once.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { fingerprintOf, serialNumberHex } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { createCertificateVerifier } from "./certificate-verifier.ts";
import type { CertificateVerifierOptions } from "./certificate-verifier.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import type { Credential, CredentialOutcome } from "../../../machinery/authentication/credential.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import type { CertificateIdentity } from "../../../machinery/authentication/presented-credential.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";

interface ClientCertificateOptions extends CertificateVerifierOptions {
  readonly names: Names;
}

/** The attribute of a subject that is the user's uid, in the arc of Kubernetes. */
const uidType = "1.3.6.1.4.1.57683.2";

/**
 * Authenticates a client certificate: the common name is the user, the organizations are the groups (upstream:
 * `x509.CommonNameUserConversion`). A certificate without a common name does not authenticate, and one with several
 * uids, or an empty one, is refused.
 */
export function clientCertificate(options: ClientCertificateOptions): Credential {
  const verify = createCertificateVerifier(options);
  const credentialId = options.names.subdomainKey("authentication", "credential-id");

  const outcomeOf = computedOnce((leaf: Certificate): CredentialOutcome => {
    const { commonName, organizations, relativeNames } = leaf.subject;
    if (commonName === "") return notApplicable;
    const uids = relativeNames.flat().flatMap(({ type, value }) => (type === uidType ? [value] : []));
    if (uids.length > 1) return refused("x509: the subject has several uids");
    const [uid] = uids;
    if (uid === "") return refused("x509: the subject's uid is empty");
    const user: UserInfo = {
      username: commonName,
      ...(uid !== undefined && { uid }),
      groups: organizations,
      extra: { [credentialId]: [`X509SHA256=${fingerprintOf(leaf)}`] },
    };
    return { outcome: "authenticated", user: withCredential(user, certificateIdentity(leaf)) };
  });

  return {
    name: "client certificate",
    headers: { names: [], prefixes: [] },
    authenticate({ connection: { peerCertificates } }) {
      if (peerCertificates.length === 0) return notApplicable;
      const answer = verify(peerCertificates);
      return answer.isTrusted ? outcomeOf(answer.leaf) : refused(answer.reason);
    },
  };
}

/** The identity of a client's certificate. Computed once for each connection, because a connection parses its certificate once. */
export const certificateIdentity = computedOnce((leaf: Certificate): CertificateIdentity => ({
  type: "certificate",
  fingerprint: fingerprintOf(leaf),
  serialNumber: serialNumberHex(leaf),
  issuer: formatDistinguishedName(leaf.issuer),
  subject: formatDistinguishedName(leaf.subject),
  notBefore: leaf.notBefore,
}));
