import { systemClock } from "../../../src/machinery/api/clock.ts";
import { openAuthorityInFiles } from "../../../src/features/certificates/authorities/authority-in-files.ts";
import type {
  AuthorityInFiles,
  AuthorityInFilesOptions,
} from "../../../src/features/certificates/authorities/authority-in-files.ts";
import { issueOwnCertificate } from "../../../src/features/certificates/authorities/issue-own-certificate.ts";
import type { PemKeyPair } from "../../../src/pki/key-stores/pem-key-pair.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";

/** A CA of a data directory, made if it does not exist. Default: the server's own CA. */
export const dataDirectoryAuthority = (
  dataDirectory: string,
  given: Partial<Pick<AuthorityInFilesOptions, "baseName" | "commonName" | "clock">> = {},
): AuthorityInFiles =>
  openAuthorityInFiles({
    dataDirectory,
    baseName: "ca",
    clock: systemClock,
    log: { warn: () => undefined },
    ...given,
  });

interface PairOptions extends Partial<SubjectAltNames> {
  readonly commonName: string;
}

/** A certificate for clients and servers that is good for an hour, with its key. */
export const issuePair = (authority: CertificateAuthority, { commonName, ...names }: PairOptions): PemKeyPair =>
  issueOwnCertificate(
    {
      subject: { commonName },
      extendedKeyUsages: ["clientAuth", "serverAuth"],
      subjectAltNames: { ...noSubjectAltNames, ...names },
    },
    { authority, clock: systemClock, lifetimeMilliseconds: 3_600_000, revocation: undefined },
  );
