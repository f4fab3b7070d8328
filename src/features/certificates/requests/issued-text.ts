import { parseCertificate } from "../../../pki/certificate.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { decodePemBlocks } from "../../../pki/pem.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { RecentTexts } from "../../../pki/recent-texts.ts";
import { validateCertificatesPem } from "../../../pki/validate-certificates-pem.ts";

/** A request's `status.certificate`, read. */
interface IssuedText {
  /** Why it may not be written, in upstream's words. Undefined when it may. */
  readonly fault: string | undefined;
  /** The first certificate: its chain comes after it. */
  readonly leaf: Certificate | "unreadable" | undefined;
  /** Whether it was issued here. Then it can only be in a request whose certificate is in the inventory. */
  readonly isRecorded: boolean;
}

/** The write, the inventory and the cleaner read the same certificate one after the other. */
const recent = new RecentTexts<IssuedText>();

/** Reads a request's `status.certificate`: PEM in base64. */
export function readIssuedText(base64: string): IssuedText {
  const known = recent.get(base64);
  if (known !== undefined) return known;
  const pem = Buffer.from(base64, "base64");
  return recent.add(base64, { fault: validateCertificatesPem(pem), leaf: leafOf(pem), isRecorded: false });
}

/**
 * Remembers a certificate that was just issued, so that its text need not be parsed again in this process. Call it before anyone
 * else can know the text, and hand the text out only together with its record, or after it.
 */
export const rememberIssued = (base64: string, certificate: Certificate): unknown =>
  recent.add(base64, { fault: undefined, leaf: certificate, isRecorded: true });

function leafOf(pem: Buffer): IssuedText["leaf"] {
  const block = decodePemBlocks(pem).find(({ type }) => type === "CERTIFICATE");
  if (block === undefined) return undefined;
  try {
    return parseCertificate(block.bytes);
  } catch (error) {
    if (error instanceof PkiError) return "unreadable";
    throw error;
  }
}
