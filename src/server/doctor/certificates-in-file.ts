import { readRegularFile } from "../../machinery/files/regular-file.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";

/** The most that is read of a file, as in a server. A pipe or a device in its place may never end. */
const largestMebibytes = 16;

/** Reads a PEM file with certificates. Throws an Error for a file that can't be read, and for what is no file of at most 16 MiB. */
export function certificatesInFile(file: string): Certificate[] {
  const read = readRegularFile(file, { largestBytes: largestMebibytes * 2 ** 20 });
  if (read === undefined) throw new Error(`it is no file of at most ${largestMebibytes} MiB`);
  return parseCertificatesPem(read.contents.toString());
}
