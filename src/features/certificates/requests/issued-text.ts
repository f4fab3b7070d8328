import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { eachPemBlock } from "../../../pki/pem.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { RecentlyParsed } from "../../../pki/recently-parsed.ts";
import { validateCertificatesPem } from "../../../pki/certificates/validate-certificates-pem.ts";

/** The parsed `status.certificate` of a request. */
type IssuedText = RecordedText | ForeignText;

/** The text of a certificate that this process issued. A request can have it only if the certificate is in the inventory. */
interface RecordedText {
  readonly isRecorded: true;
  /** The end of the first certificate, in milliseconds since the epoch. */
  readonly notAfter: number;
}

interface ForeignText {
  readonly isRecorded: false;
  /** The first certificate, which its chain follows. Undefined when the text has none. */
  readonly leaf: Certificate | "unreadable" | undefined;
}

/** More texts than changes wait for the controllers while certificates are issued: these controllers are the last readers of the texts. */
const issuedHere = new RecentlyParsed<RecordedText>(1500);

/** The inventory and the cleaner read each certificate shortly after one another. */
const issuedElsewhere = new RecentlyParsed<ForeignText>(256);

/** Reads a request's `status.certificate`: PEM in base64. */
export function readIssuedText(base64: string): IssuedText {
  const known = issuedHere.get(base64) ?? issuedElsewhere.get(base64);
  if (known !== undefined) return known;
  const pem = Buffer.from(base64, "base64");
  return issuedElsewhere.add(base64, { isRecorded: false, leaf: leafOf(pem) });
}

/**
 * Why a request's `status.certificate` may not be written, in upstream's words. Undefined when it may. The text is read in turns of the
 * event loop, because it has room for thousands of certificates.
 */
export async function faultOfIssuedText(base64: string, user: UserInfo): Promise<string | undefined> {
  if (issuedHere.get(base64) !== undefined) return undefined;
  return new LongWork(user).all(validateCertificatesPem(Buffer.from(base64, "base64")));
}

/**
 * Remembers a certificate that was just issued, so that its text need not be parsed again in this process. Call it before anyone else can
 * know the text. Hand the text out only together with its record, or after it.
 */
export const rememberIssued = (base64: string, { notAfter }: Certificate): unknown =>
  issuedHere.add(base64, { isRecorded: true, notAfter });

function leafOf(pem: Buffer): ForeignText["leaf"] {
  for (const { type, bytes } of eachPemBlock(pem)) {
    if (type !== "CERTIFICATE") continue;
    const leaf = orPkiError(() => parseCertificate(bytes));
    return leaf instanceof PkiError ? "unreadable" : leaf;
  }
  return undefined;
}
