import { type DerReader, tags } from "./der.ts";
import { PkiError } from "./pki-error.ts";

const utcTime = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/;
const generalizedTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(Z|[+-]\d{4})$/;

/**
 * Reads a UTCTime or GeneralizedTime as milliseconds since the epoch. Two-digit years mean 1950 to 2049. Throws
 * PkiError.
 */
export function readTime(reader: DerReader): number {
  const isUtcTime = reader.nextTag === tags.utcTime;
  if (!isUtcTime && reader.nextTag !== tags.generalizedTime) throw new PkiError("x509: unsupported time format");
  const text = reader.readElement().content.toString("latin1");
  const malformed = (): PkiError => new PkiError(`x509: malformed ${isUtcTime ? "UTCTime" : "GeneralizedTime"}`);
  const match = (isUtcTime ? utcTime : generalizedTime).exec(text);
  if (match === null) throw malformed();
  const [yearDigits = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((digits) => Number(digits ?? 0));
  const year = isUtcTime ? (yearDigits < 50 ? 2000 : 1900) + yearDigits : yearDigits;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isSame =
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  if (!isSame) throw malformed();
  return date.getTime() - offsetMilliseconds(match[7] ?? "Z", malformed);
}

function offsetMilliseconds(zone: string, malformed: () => PkiError): number {
  if (zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  // DER writes UTC as Z, never as an offset.
  if (minutes === 0 || Number(zone.slice(1, 3)) > 23 || Number(zone.slice(3)) > 59) throw malformed();
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}
