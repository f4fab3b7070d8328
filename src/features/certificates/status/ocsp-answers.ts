import { hash } from "node:crypto";
import { computedOnce } from "../../../machinery/api/computed-once.ts";
import { millisecondsSince } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { TokenBucket } from "../../../machinery/scheduling/token-bucket.ts";
import { RecentlyUsed } from "../../../machinery/api/recently-used.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { oids } from "../../../pki/der/object-identifiers.ts";
import { parseOcspRequest } from "../../../pki/revocation/ocsp-request.ts";
import type { CertificateId, OcspRequest } from "../../../pki/revocation/ocsp-request.ts";
import { encodeOcspFailure, signOcspResponse } from "../../../pki/revocation/ocsp-response.ts";
import type { CertificateStatus, OcspFailure } from "../../../pki/revocation/ocsp-response.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { backdateMilliseconds } from "../backdate.ts";
import { authorityId } from "./addresses.ts";
import type { CertificateStatuses } from "./certificate-statuses.ts";
import type { AnsweringAuthority, OcspResponders } from "./ocsp-responders.ts";

type OcspResult =
  /** An answer for all clients with the same question, until it expires. */
  | { readonly der: Buffer; readonly tag: string; readonly signedAt: number; readonly expiresAt: number }
  /** A failure, or an answer with the nonce of one client. */
  | { readonly der: Buffer; readonly expiresAt?: undefined };

export interface OcspAnswersOptions {
  readonly authorities: () => readonly AnsweringAuthority[];
  readonly statuses: Pick<CertificateStatuses, "ready" | "of">;
  readonly responders: OcspResponders;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

/** How long clients may cache an answer. They learn of a revocation at most this much later. */
const validityMilliseconds = 3_600_000;
const reuseMilliseconds = validityMilliseconds / 2;
const maximumCachedAnswers = 10_000;
/** The most signatures of a process in a second, whatever strangers ask. Each takes about 50 µs. */
const signaturesPerSecond = 1000;
/**
 * The signatures that are reserved for answers that are cached. Strangers can request other answers without limit, and must not prevent
 * these.
 */
const reservedSignatures = signaturesPerSecond / 2;
/** How long the list of CAs is kept, because making it checks files for changes. */
const pollMilliseconds = 1000;
/** The nonce lengths of RFC 9654 section 2.1. A nonce of another length is left out of the answer. */
const repeatedNonceOctets = { minimum: 16, maximum: 32 };

interface CachedAnswer {
  readonly result: OcspResult & { readonly expiresAt: number };
  readonly status: CertificateStatus;
}

/** Answers OCSP requests (RFC 6960) for the CAs whose keys are here. */
export class OcspAnswers {
  readonly #options: OcspAnswersOptions;
  /** By CertID. It identifies the CA by name and key, so a renewed certificate of the same CA changes nothing. */
  readonly #cached = new RecentlyUsed<CachedAnswer>({ maximumEntries: maximumCachedAnswers });
  #refreshed: { readonly at: number; readonly authorities: readonly AnsweringAuthority[] } | undefined;
  readonly #signatures: TokenBucket;

  constructor(options: OcspAnswersOptions) {
    this.#options = options;
    const { clock } = options;
    this.#signatures = new TokenBucket({ burst: signaturesPerSecond, perSecond: signaturesPerSecond, clock });
  }

  /** The certificate of the CA with an id. Undefined: its key is not here. */
  issuer(id: string): Certificate | undefined {
    return this.#authorities()
      .map(({ authority }) => authority.certificate)
      .find((certificate) => authorityId(certificate) === id);
  }

  /** Answers a request in DER. Never rejects, because failures are answers too. The caller limits the bytes. */
  async answer(der: Buffer): Promise<OcspResult> {
    try {
      return await this.#answer(parseOcspRequest(der));
    } catch (error) {
      if (error instanceof PkiError) return failed("malformedRequest");
      this.#options.onFailure(error);
      return failed("tryLater");
    }
  }

  async #answer({ certificateIds, nonce }: OcspRequest): Promise<OcspResult> {
    const now = this.#options.clock.now();
    const answering = this.#authorityOf(certificateIds, now);
    if (answering === undefined) return failed("unauthorized");
    await this.#options.statuses.ready();
    const statuses = await this.#statusesOf(certificateIds, answering.authority.certificate);

    const key = cacheKeyOf(certificateIds, statuses);
    const cached = key === undefined ? undefined : this.#cachedAnswer(key, { status: statuses[0], now });
    const signatures = this.#signatures.available();
    const isUnderLoad = signatures <= reservedSignatures;
    // Under load, answers have no nonce: clients that require one ask again, and all others still get an answer.
    const repeated = isUnderLoad ? undefined : allowedNonce(nonce);
    if (cached !== undefined && repeated === undefined) return cached;
    if (key === undefined ? isUnderLoad : signatures < 1) return failed("tryLater");
    this.#signatures.take();

    const responder = await this.#options.responders.of(answering);
    const signedAt = Math.floor(now / 1000) * 1000;
    const expiresAt = Math.min(signedAt + validityMilliseconds, responder.certificate.notAfter);
    const responses = certificateIds.map(({ der: certificateId }, index) => ({
      certificateId,
      status: statuses[index] ?? { type: "unknown" as const },
    }));
    // Backdated like certificates and lists, because the verifier's clock may be behind.
    const times = { thisUpdate: signedAt - backdateMilliseconds, nextUpdate: expiresAt };
    if (repeated !== undefined) return { der: signOcspResponse({ responses, ...times, nonce: repeated }, responder) };
    const der = signOcspResponse({ responses, ...times }, responder);
    const result = { der, tag: hash("sha256", der, "hex"), signedAt, expiresAt };
    const [status] = statuses;
    if (key !== undefined && status !== undefined) this.#cached.set(key, { result, status });
    return result;
  }

  /**
   * The CA of all these certificates. One CA must have issued all of them, because an answer has only one signature. Undefined: the CA's
   * key is not here, or the CA has expired.
   */
  #authorityOf(certificateIds: readonly CertificateId[], now: number): AnsweringAuthority | undefined {
    const found = this.#authorities().find(({ authority }) =>
      certificateIds.every((id) => isIssuer(authority.certificate, id)),
    );
    return found !== undefined && found.authority.certificate.notAfter > now ? found : undefined;
  }

  /**
   * Divided into turns of the event loop: a subject may have tens of thousands of revocations, and a request may name many of its
   * certificates.
   */
  async #statusesOf(certificateIds: readonly CertificateId[], issuer: Certificate): Promise<CertificateStatus[]> {
    const statuses: CertificateStatus[] = [];
    await new LongWork().each(certificateIds, ({ serialNumber }) =>
      statuses.push(this.#options.statuses.of(issuer, serialNumber)),
    );
    return statuses;
  }

  #authorities(): readonly AnsweringAuthority[] {
    const { clock, authorities } = this.#options;
    if (this.#refreshed === undefined || millisecondsSince(this.#refreshed.at, clock) >= pollMilliseconds) {
      this.#refreshed = { at: clock.now(), authorities: authorities() };
    }
    return this.#refreshed.authorities;
  }

  /** The cached answer, if it is recent and its status is still true. */
  #cachedAnswer(
    key: string,
    present: { readonly status: CertificateStatus | undefined; readonly now: number },
  ): CachedAnswer["result"] | undefined {
    const cached = this.#cached.get(key);
    if (cached === undefined) return undefined;
    const { result, status } = cached;
    const ageMilliseconds = present.now - result.signedAt;
    const isYoung = ageMilliseconds > -1000 && ageMilliseconds < reuseMilliseconds && present.now < result.expiresAt;
    return isYoung && isSame(status, present.status) ? result : undefined;
  }
}

interface IssuerHashes {
  readonly name: Buffer;
  readonly key: Buffer;
}

const hashNames = ["sha1", "sha256", "sha384", "sha512"] as const;

const issuerHashes = computedOnce(
  ({ rawSubject, publicKey }: Certificate): ReadonlyMap<string, IssuerHashes> =>
    new Map(
      hashNames.map((name) => [
        oids[name],
        { name: hash(name, rawSubject, "buffer"), key: hash(name, publicKey.keyBytes, "buffer") },
      ]),
    ),
);

function isIssuer(certificate: Certificate, { hashAlgorithm, issuerNameHash, issuerKeyHash }: CertificateId): boolean {
  const own = issuerHashes(certificate).get(hashAlgorithm);
  return own !== undefined && own.name.equals(issuerNameHash) && own.key.equals(issuerKeyHash);
}

/**
 * The key under which an answer is cached. Undefined for questions whose answers are not cached: about several certificates, or about a
 * serial number that was never issued. With these, strangers could fill the memory.
 */
function cacheKeyOf(
  [first, ...others]: readonly CertificateId[],
  [status]: readonly CertificateStatus[],
): string | undefined {
  if (first === undefined || others.length > 0 || status === undefined || status.type === "unknown") return undefined;
  return first.der.toString("latin1");
}

/** The nonce of a question, if its length is allowed in answers. */
const allowedNonce = (nonce: Buffer | undefined): Buffer | undefined =>
  nonce !== undefined && nonce.length >= repeatedNonceOctets.minimum && nonce.length <= repeatedNonceOctets.maximum
    ? nonce
    : undefined;

const failed = (failure: OcspFailure): OcspResult => ({ der: encodeOcspFailure(failure) });

const isSame = (one: CertificateStatus, other: CertificateStatus | undefined): boolean =>
  one.type === "revoked"
    ? other?.type === "revoked" && one.revokedAt === other.revokedAt && one.reason === other.reason
    : one.type === other?.type;
