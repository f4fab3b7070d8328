import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { writePrivateFile, writePublicFile } from "../../../machinery/files/atomic-file.ts";
import type { FollowedKeyRecords } from "../../../machinery/keys/key-records.ts";
import type { SealingKey } from "../../../machinery/keys/sealing-key.ts";
import { validityFault } from "../../../pki/certificates/authority-path.ts";
import { loadCertificateAuthority } from "../../../pki/certificates/certificate-authority.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { encodePem } from "../../../pki/pem.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { authorityRecord, generationThat, sealedAuthorityName } from "./authority-record.ts";
import type { Generation, RotatedAuthority } from "./authority-record.ts";
import { openAuthorityInFiles, readAuthorityFile } from "./authority-in-files.ts";
import type { AuthorityInFilesOptions } from "./authority-in-files.ts";
import { rootSigningAuthority } from "./signing-authority.ts";
import type { SigningAuthority, SigningAuthorityInProcess } from "./signing-authority.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** A CA of a data directory, with the CAs that are trusted beside it. */
interface AuthorityWithBundle extends SigningAuthorityInProcess {
  /** PEM of every trusted CA: the signing one, a prepared one, and those that signed before. */
  readonly bundlePem: string;
}

/** The options of every CA that `signet ca` rotates. */
export interface RotationContext {
  readonly records: FollowedKeyRecords;
  readonly sealingKey: SealingKey;
  readonly log: Log;
}

export interface RotatableAuthorityOptions extends AuthorityInFilesOptions, RotationContext {
  /** The name of the CA in the store and for `signet ca`. Default: the name of its files. */
  readonly name?: string;
}

/**
 * A CA of the data directory. Until its first rotation, it is in its files. From then on it is in the store, and the files are a copy for
 * people and for earlier versions.
 */
export class RotatableAuthority {
  readonly name: string;
  readonly #options: RotatableAuthorityOptions;
  readonly #listeners = new Set<() => void>();
  #rotated: RotatedAuthority | undefined;
  #seen: string | undefined;
  #current: AuthorityWithBundle;

  /** Throws UnusableFile, UsageError or PkiError for files that can't be used, and for a key that can't be opened. */
  constructor(options: RotatableAuthorityOptions) {
    this.name = options.name ?? options.baseName;
    this.#options = options;
    this.#rotated = this.#read();
    this.#current = this.#rotated === undefined ? authorityInFiles(options) : this.#opened(this.#rotated);
    this.#copyToFiles();
    this.#reportInvalid();
    options.records.onChange(() => this.#recordChanged());
  }

  /** The CA that signs now. The object is the same until something changes. */
  current(): AuthorityWithBundle {
    return this.#current;
  }

  /** Whether the CA is in the store, so that every replica has it. */
  get isInStore(): boolean {
    return this.#rotated !== undefined;
  }

  /** Whether a CA was trusted beside this one, but is not trusted any more. */
  isRetired(certificate: Certificate): boolean {
    return this.#rotated?.retired.includes(fingerprintOf(certificate)) === true;
  }

  /** Calls `listener` after each change. It must not throw. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Logs a CA that is not valid now. It lets the server start, but no client accepts its certificates. It may have been made while the
   * clock was wrong.
   */
  #reportInvalid(): void {
    const { clock, log } = this.#options;
    const reason = validityFault([this.#current.certificate], clock.now());
    if (reason === undefined) return;
    log.error(
      { authority: this.name, reason },
      `clients refuse what this CA signs; if this machine's clock is right, replace the CA: ${this.#replacing} --force`,
    );
  }

  get #replacing(): string {
    return `signet ca prepare ${this.name}, then signet ca switch ${this.name}`;
  }

  #read(): RotatedAuthority | undefined {
    const text = this.#options.records.recordOf(authorityRecord.name)?.value;
    this.#seen = text;
    return text === undefined ? undefined : authorityRecord.parse(text).authorities[this.name];
  }

  #recordChanged(): void {
    const { records, log } = this.#options;
    if (records.recordOf(authorityRecord.name)?.value === this.#seen) return;
    try {
      const rotated = this.#read();
      if (rotated === undefined || JSON.stringify(rotated) === JSON.stringify(this.#rotated)) return;
      this.#current = this.#opened(rotated);
      this.#rotated = rotated;
      const generations = rotated.generations.map(({ fingerprint, state }) => ({ fingerprint, state }));
      log.info({ authority: this.name, generations }, "CA rotated");
    } catch (error) {
      const reason = messageOf(error);
      log.error({ authority: this.name, error: reason }, "the CA in the store can't be used; the previous one stays");
    }
    try {
      this.#copyToFiles();
    } catch (error) {
      const reason = messageOf(error);
      log.error({ authority: this.name, error: reason }, "could not copy the CA to its files; the next start does");
    }
    for (const listener of this.#listeners) listener();
  }

  #opened(rotated: RotatedAuthority): AuthorityWithBundle {
    const signing = generationThat(rotated, "signing");
    if (signing === undefined) throw new Error(`none of the CAs ${this.name} in the store signs`);
    const open = ({ certificate, fingerprint, sealedKey, state }: Generation): SigningAuthorityInProcess => {
      const privateKey = this.#options.sealingKey.unseal(sealedKey, sealedAuthorityName(fingerprint));
      const authority = orPkiError(() => loadCertificateAuthority({ certificate, privateKey }));
      if (!(authority instanceof PkiError)) return rootSigningAuthority(authority);
      const next =
        state === "replaced"
          ? `end the trust in it: signet ca retire ${this.name} --force`
          : `start the version before, and replace it there: ${this.#replacing}`;
      throw new UsageError(`the CA ${this.name} in the store cannot be used: ${authority.message}; ${next}`, {
        cause: authority,
      });
    };
    const others = rotated.generations.filter((one) => one !== signing);
    return {
      ...open(signing),
      otherGenerations: others.map(open),
      anchors: [signing, ...others].flatMap((one) => parseCertificatesPem(one.certificate)),
      bundlePem: [signing, ...others].map((one) => one.certificate).join(""),
    };
  }

  /** Writes the trusted CAs and the signing key into the files, for people and for earlier versions. The signing CA comes first. */
  #copyToFiles(): void {
    const { dataDirectory, baseName, sealingKey } = this.#options;
    const signing = this.#rotated && generationThat(this.#rotated, "signing");
    const certificateFile = join(dataDirectory, `${baseName}.crt`);
    if (signing === undefined || isFile(certificateFile, this.#current.bundlePem)) return;
    const keyFile = join(dataDirectory, `${baseName}.key`);
    writePrivateFile(keyFile, sealingKey.unseal(signing.sealedKey, sealedAuthorityName(signing.fingerprint)));
    writePublicFile(certificateFile, this.#current.bundlePem);
  }
}

const isFile = (file: string, text: string): boolean => existsSync(file) && readAuthorityFile(file) === text;

function authorityInFiles(options: RotatableAuthorityOptions): AuthorityWithBundle {
  const authority = openAuthorityInFiles(options);
  return { ...rootSigningAuthority(authority), bundlePem: authority.pem };
}

/** A new generation of a CA, for the record. */
export function newGeneration(
  authority: Pick<SigningAuthority, "certificate">,
  { keyPem, sealingKey }: { readonly keyPem: string; readonly sealingKey: SealingKey },
): Pick<Generation, "fingerprint" | "certificate" | "sealedKey"> {
  const fingerprint = fingerprintOf(authority.certificate);
  return {
    fingerprint,
    certificate: encodePem("CERTIFICATE", authority.certificate.der),
    sealedKey: sealingKey.seal(keyPem, sealedAuthorityName(fingerprint)),
  };
}
