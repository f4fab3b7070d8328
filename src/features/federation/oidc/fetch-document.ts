import { errorCode } from "../../../machinery/api/thrown-error.ts";
import { tlsFailure } from "../../../machinery/api/tls-failure.ts";
import type { TlsSettingNames } from "../../../machinery/api/tls-failure.ts";
import https from "node:https";
import { answeredJson } from "../../../machinery/client/webhooks/answered-json.ts";
import { boundedText, countedBytes } from "../../../machinery/client/bounded-text.ts";
import { boundInterimAnswers } from "../../../machinery/client/https/bound-interim-answers.ts";
import { ProxyAgent } from "../../../machinery/client/https/proxy-agent.ts";
import { pipeline } from "node:stream";
import { getCACertificates } from "node:tls";
import { createGunzip } from "node:zlib";

const largestBytes = 1024 * 1024;
const tooLarge = "its answer is larger than 1 MiB, or comes in too many parts";
const timeoutMilliseconds = 10_000;

interface FetchedDocument {
  readonly value: unknown;
  /** How long the issuer allows caching the document. Undefined: the answer does not say. */
  readonly maximumAgeMilliseconds: number | undefined;
}

interface FetchOptions {
  /** PEM of the CAs to trust. Undefined: the system's and the runtime's. */
  readonly certificateAuthority: string | undefined;
  /** Aborts the request. */
  readonly signal: AbortSignal;
}

/** Gets a JSON document from a configured URL, or from a URL in the document of a configured issuer. */
export type FetchDocument = (url: string, options: FetchOptions) => Promise<FetchedDocument>;

/**
 * Gets a JSON document over HTTPS: at most 1 MiB, within 10 s in all. Uses a new connection, which goes through the proxy of the
 * environment. Redirects are not followed. Rejects with an Error that names the URL.
 */
export const fetchDocument: FetchDocument = async (url, { certificateAuthority, signal }) => {
  const timeout = AbortSignal.timeout(timeoutMilliseconds);
  const ca = certificateAuthority ?? systemAuthorities();
  const response = await get(url, { ca, signal: AbortSignal.any([signal, timeout]) });
  try {
    const status = response.statusCode ?? 0;
    if (status >= 300 && status < 400) {
      throw new Error("it redirects, which is not followed: name the final address in issuer.url or discoveryURL");
    }
    if (status !== 200) throw new Error(`it answered ${status}`);
    const text = await boundedText(decoded(response), largestBytes);
    if (text === undefined) throw new Error(tooLarge);
    return {
      value: answeredJson(text),
      maximumAgeMilliseconds: maximumAgeOf(response.headers["cache-control"]),
    };
  } catch (error) {
    // Node.js reports every interrupted body as "aborted".
    if (errorCode(error) !== "ECONNRESET") throw fetchFault(url, error);
    throw fetchFault(url, timeout.aborted ? timeout.reason : new Error("its answer broke off"));
  } finally {
    response.destroy();
  }
};

/**
 * The decompressed body of a response. Some file servers store compressed documents, and send them to all clients. The name of the encoding
 * is case-insensitive (RFC 9110 section 8.4.1).
 */
function decoded(response: Incoming): AsyncIterable<Buffer> {
  if (response.headers["content-encoding"]?.toLowerCase() !== "gzip") return response;
  // The callback is empty, because the reader of the pipeline gets its errors.
  return pipeline(response, withinBounds, createGunzip(), () => {});
}

/**
 * Bounds the compressed bytes too: an endless number of them may decompress to nothing, such as a file name or empty blocks (RFC 1952
 * section 2.3).
 */
async function* withinBounds(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of compressed) {
    bytes += countedBytes(part);
    if (bytes > largestBytes) throw new Error(tooLarge);
    yield part;
  }
}

type Incoming = Parameters<NonNullable<Parameters<typeof https.get>[2]>>[0];

const get = (
  url: string,
  { ca, signal }: { readonly ca: string | string[]; readonly signal: AbortSignal },
): Promise<Incoming> =>
  new Promise((resolve, reject) => {
    const agent = new ProxyAgent({ server: url }, { ca });
    const headers = { accept: "application/json", "accept-encoding": "gzip", "user-agent": "signet" };
    const failed = (error: unknown): void => reject(fetchFault(url, error));
    const request = https.get(url, { agent, signal, headers }, resolve).on("error", failed);
    boundInterimAnswers(request, "information");
    // Node.js closes a connection after a 101 answer (a change of protocol) without a response or an error.
    request.on("close", () => failed(new Error("it closed the connection without an answer")));
    agent.boundTunnel(request, { signal, milliseconds: timeoutMilliseconds, onEnded: failed });
  });

/** Where the CAs of an issuer are set: in `--authentication-config`, or by a flag. */
const settings: TlsSettingNames = { authorities: "certificateAuthority, or --oidc-ca-file" };

const fetchFault = (url: string, error: unknown): Error => {
  const isLate = error instanceof Error && ["AbortError", "TimeoutError"].includes(error.name);
  const reason = isLate ? "no answer in time" : tlsFailure(error, settings);
  return new Error(`${url}: ${reason}`, { cause: error });
};

let system: string[] | undefined;
const systemAuthorities = (): string[] =>
  (system ??= [...new Set([...getCACertificates("default"), ...getCACertificates("system")])]);

function maximumAgeOf(cacheControl: string | undefined): number | undefined {
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
