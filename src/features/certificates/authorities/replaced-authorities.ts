import { existsSync, readFileSync } from "node:fs";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import type { OutageReport } from "../../../machinery/logging/outage-report.ts";
import { writePublicFile } from "../../../machinery/files/atomic-file.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { encodePem } from "../../../pki/pem.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";

interface ReplacedAuthoritiesOptions {
  /** The file that keeps the CAs across restarts: JSON with certificates, nothing secret. */
  readonly file: string;
  readonly clock: Clock;
  /** The longest validity of a replaced CA's certificates, in milliseconds: so long they may still be in use. */
  readonly overlapMilliseconds: number;
  /** Called with the signing CAs when new ones replace earlier ones. */
  readonly onReplaced: (current: readonly Certificate[]) => void;
  /** Receives whether the file could be written. While it can't, each `observe` tries again, and this process trusts the CAs anyway. */
  readonly writing: Pick<OutageReport, "failed" | "succeeded">;
}

/** The most CAs that are kept after their time is over: if the clock is wrongly ahead now, their time is not really over. */
const mostOver = 16;

interface KnownAuthority {
  readonly certificate: Certificate;
  /** Milliseconds since the epoch. Infinity while the CA signs. */
  readonly acceptedUntil: number;
}

/**
 * The CAs that signed client certificates in the past. They stay trusted as long as any of their certificates may be valid, so that the
 * rotation of a CA locks out no client. CAs that `signet ca retire` ends are not kept here: see `RotatableAuthority.isRetired`.
 */
export class ReplacedAuthorities {
  readonly #options: ReplacedAuthoritiesOptions;
  #known: readonly KnownAuthority[];
  /** The present text of the file. */
  #written: string;

  /** Throws UsageError for a file that cannot be read, because people may edit it to remove CAs. */
  constructor(options: ReplacedAuthoritiesOptions) {
    this.#options = options;
    this.#known = readReplacedAuthorities(options.file);
    this.#written = format(this.#known);
  }

  /**
   * Sets the CAs that sign now. CAs that no longer sign count as replaced from this moment on. A clock that is wrong for a moment has no
   * other effect.
   */
  observe(current: readonly Certificate[]): void {
    const { clock, overlapMilliseconds, onReplaced } = this.#options;
    const now = clock.now();
    const isCurrent = ({ certificate }: KnownAuthority): boolean =>
      current.some(({ der }) => der.equals(certificate.der));
    const replaced = this.#known
      .filter((known) => !isCurrent(known))
      .map(({ certificate, acceptedUntil }) => ({
        certificate,
        acceptedUntil: Math.min(
          acceptedUntil === Infinity ? now + overlapMilliseconds : acceptedUntil,
          certificate.notAfter,
        ),
      }))
      .toSorted((one, other) => one.acceptedUntil - other.acceptedUntil);
    const over = replaced.filter(({ acceptedUntil }) => acceptedUntil <= now);
    const kept = replaced.slice(Math.max(0, over.length - mostOver));
    const next = [...current.map((certificate) => ({ certificate, acceptedUntil: Infinity })), ...kept];
    const signedBefore = new Set(this.#known.map(({ certificate }) => fingerprintOf(certificate)));
    const isReplaced = current.some((certificate) => !signedBefore.has(fingerprintOf(certificate)));
    if (signedBefore.size > 0 && isReplaced) onReplaced(current);
    this.#known = next;
    this.#write(format(next));
  }

  #write(text: string): void {
    if (text === this.#written) return;
    const { file, writing } = this.#options;
    try {
      writePublicFile(file, text);
      this.#written = text;
      writing.succeeded();
    } catch (error) {
      writing.failed(error);
    }
  }

  /** The replaced CAs that are still trusted. */
  certificates(): readonly Certificate[] {
    const now = this.#options.clock.now();
    return this.#known
      .filter(({ acceptedUntil }) => acceptedUntil > now && acceptedUntil !== Infinity)
      .map(({ certificate }) => certificate);
  }
}

interface StoredAuthority {
  readonly certificate: string;
  readonly acceptedUntil?: string;
}

const format = (known: readonly KnownAuthority[]): string =>
  `${JSON.stringify(
    known.map(({ certificate, acceptedUntil }): StoredAuthority => ({
      certificate: encodePem("CERTIFICATE", certificate.der),
      ...(acceptedUntil !== Infinity && { acceptedUntil: timestamp(acceptedUntil) }),
    })),
    null,
    2,
  )}\n`;

/** Reads the replaced CAs of a file. Throws UsageError for a file that cannot be read. */
export function readReplacedAuthorities(file: string): KnownAuthority[] {
  if (!existsSync(file)) return [];
  try {
    return parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new UsageError(
      `${file} cannot be read: ${messageOf(cause)}; correct it, or move it away: then CAs that were replaced are not trusted any more`,
      { cause },
    );
  }
}

function parse(text: string): KnownAuthority[] {
  const stored = JSON.parse(text) as StoredAuthority[]; // written by `format`, perhaps edited by people
  return stored.flatMap(({ certificate, acceptedUntil }) =>
    parseCertificatesPem(certificate).map((one) => ({
      certificate: one,
      acceptedUntil: acceptedUntil === undefined ? Infinity : parseTime(acceptedUntil),
    })),
  );
}

function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new Error(`acceptedUntil must be a time such as 2030-01-31T00:00:00Z, not ${JSON.stringify(text)}`);
  return time;
}
