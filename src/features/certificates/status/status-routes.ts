import type { Clock } from "../../../machinery/api/clock.ts";
import { ApiError } from "../../../machinery/api/api-error.ts";
import type { Headers, HttpResponse } from "../../../machinery/api/http-message.ts";
import { pageNotFound, plainText } from "../../../machinery/http/plain-text.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { encodeOcspFailure } from "../../../pki/revocation/ocsp-response.ts";
import { authorityId, issuerAddress, listAddress, ocspAddress, revocationPath } from "./addresses.ts";
import type { OcspAnswers } from "./ocsp-answers.ts";
import type { PublishedLists } from "./published-lists.ts";
import { parseStoredListName, storedListName } from "./stored-list.ts";

/** A request of either listener. */
interface StatusRequest {
  readonly method: string;
  /** The path as the client sent it, without the query. */
  readonly path: string;
  readonly headers: Headers;
  /** May be called once. Rejects when the body is cut off or too long. */
  readBody(maximumBytes: number): Promise<Buffer>;
}

/** Answers a request below `revocationPath`. Needs no credentials, because everything here is signed and public. */
export type AnswerStatus = (request: StatusRequest) => Promise<HttpResponse>;

interface StatusRoutesOptions {
  readonly lists: PublishedLists;
  readonly ocsp: OcspAnswers;
  readonly clock: Clock;
}

/** More than any client needs for the certificates that one request may name. */
const maximumRequestBytes = 8 * 1024;
/** How long caches may keep an answer. All clients can learn of a revocation after this time. */
const maximumAgeSeconds = 60;

const contentTypes = {
  list: "application/pkix-crl",
  issuer: "application/pkix-cert",
  ocspRequest: "application/ocsp-request",
  ocspResponse: "application/ocsp-response",
} as const;

/** Serves lists, CA certificates and OCSP, the same on the secure port and over plain HTTP. */
export function statusRoutes({ lists, ocsp, clock }: StatusRoutesOptions): AnswerStatus {
  const list = (name: string, request: StatusRequest): HttpResponse => {
    const found = lists.find(name);
    if (found === undefined) return plainText(404, "there is no such revocation list\n");
    return cached(request, {
      contentType: contentTypes.list,
      bytes: found.der,
      tag: found.tag,
      changedAt: found.signedAt,
      expiresAt: found.nextUpdate,
      now: clock.now(),
    });
  };
  const issuer = (id: string, request: StatusRequest): HttpResponse => {
    const found = lists.find(storedListName(id, undefined))?.issuer ?? ocsp.issuer(id);
    if (found === undefined) return plainText(404, "there is no such CA\n");
    return cached(request, {
      contentType: contentTypes.issuer,
      bytes: found.der,
      tag: `${id}-${found.notAfter}`,
      changedAt: found.notBefore,
      expiresAt: found.notAfter,
      now: clock.now(),
    });
  };
  const answerOcsp = async (request: StatusRequest, encoded: string | undefined): Promise<HttpResponse> => {
    const der = encoded === undefined ? await boundedBody(request) : decodeGet(encoded);
    const failed = (): HttpResponse => ocspResponse(encodeOcspFailure("malformedRequest"));
    if (der === undefined || der.length > maximumRequestBytes) return failed();
    const answer = await ocsp.answer(der);
    if (answer.expiresAt === undefined || encoded === undefined) return ocspResponse(answer.der);
    const { tag, signedAt: changedAt, expiresAt } = answer;
    const content = { contentType: contentTypes.ocspResponse, bytes: answer.der, tag, changedAt, expiresAt };
    return cached(request, { ...content, now: clock.now() });
  };
  return async (request) => {
    const { method, path } = request;
    const address = path.slice(revocationPath.length);
    const isRead = method === "GET" || method === "HEAD";
    if (address === ocspAddress || address === `${ocspAddress}/`) {
      return method === "POST" ? answerOcsp(request, undefined) : notAllowed("POST");
    }
    if (!isRead) return notAllowed("GET, HEAD");
    if (address.startsWith(`${ocspAddress}/`)) return answerOcsp(request, address.slice(ocspAddress.length + 1));
    const [, id, shard] = /^crl\/([0-9a-f]{40})(?:\/([0-9a-f]))?\.crl$/.exec(address) ?? [];
    if (id !== undefined) return list(storedListName(id, shard), request);
    const [, ca] = /^ca\/([0-9a-f]{40})\.crt$/.exec(address) ?? [];
    if (ca !== undefined) return issuer(ca, request);
    return address === "" ? overview(lists) : pageNotFound();
  };
}

/** A page for people with the address of each CA, in the same order on every worker and replica. */
function overview(lists: PublishedLists): HttpResponse {
  const sorted = [...lists.all()].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = sorted.flatMap(([name, { issuer, number, signedAt, nextUpdate }]) => {
    if (parseStoredListName(name)?.shard !== undefined) return [];
    const id = authorityId(issuer);
    return [
      formatDistinguishedName(issuer.subject),
      `  ${revocationPath}${listAddress(id, undefined)}  number ${number}, signed ${timestamp(signedAt)}, valid until ${timestamp(nextUpdate)}`,
      `  ${revocationPath}${issuerAddress(id)}`,
    ];
  });
  return plainText(200, [...lines, `OCSP: ${revocationPath}${ocspAddress}`, ""].join("\n"));
}

const notAllowed = (allow: string): HttpResponse => {
  const response = plainText(405, "405 method not allowed\n");
  return { ...response, headers: { ...response.headers, allow } };
};

const ocspResponse = (der: Buffer): HttpResponse => ({
  status: 200,
  headers: { "content-type": contentTypes.ocspResponse, "cache-control": "no-store" },
  body: der,
});

/** Reads the body. Undefined for a body that is too large, which is not read to its end. */
async function boundedBody(request: StatusRequest): Promise<Buffer | undefined> {
  try {
    return await request.readBody(maximumRequestBytes);
  } catch (error) {
    if (error instanceof ApiError && error.code === 413) return undefined;
    throw error;
  }
}

/**
 * Decodes the base64 of a request in a path (RFC 6960 appendix A.1). Clients differ in which characters they escape. Undefined: too long,
 * or no base64.
 */
function decodeGet(encoded: string): Buffer | undefined {
  // Base64 is a third longer than its bytes, and each character may be escaped with three.
  if (encoded.length > maximumRequestBytes * 4) return undefined;
  const text = encoded.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

interface CachedContent {
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly tag: string;
  /** This and the next two are times in milliseconds since the epoch. */
  readonly changedAt: number;
  readonly expiresAt: number;
  readonly now: number;
}

/** The content, or a 304 when the client already has it (RFC 9110 section 13). */
function cached(
  { headers: asked }: StatusRequest,
  { contentType, bytes, tag, changedAt, expiresAt, now }: CachedContent,
): HttpResponse {
  const seconds = Math.max(0, Math.min(maximumAgeSeconds, Math.floor((expiresAt - now) / 1000)));
  const headers = {
    etag: `"${tag}"`,
    "last-modified": new Date(changedAt).toUTCString(),
    "cache-control": `public, max-age=${seconds}, must-revalidate`,
  };
  const tags = asked["if-none-match"];
  const since = Date.parse(String(asked["if-modified-since"] ?? ""));
  const isKnown =
    tags === undefined
      ? Math.floor(changedAt / 1000) * 1000 <= since
      : String(tags)
          .split(",")
          .some((one) => ["*", `"${tag}"`].includes(one.trim().replace(/^W\//, "")));
  if (isKnown) return { status: 304, headers, body: "" };
  return { status: 200, headers: { ...headers, "content-type": contentType }, body: bytes };
}
