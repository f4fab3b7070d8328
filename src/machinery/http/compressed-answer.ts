import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import { FairQueue } from "./fair-queue.ts";

/** Smaller answers are cheaper to send than to compress (upstream's threshold). */
const minimumCompressedBytes = 128 * 1024;
const compress = promisify(gzip);

/**
 * Compression uses at most three of the four threads of Node.js, and two for one user. On all four, hundreds of answers would delay the
 * writes of the audit log and the store. There is no limit for the answers that wait, because running requests are limited already.
 */
const threads = new FairQueue({ concurrency: 3, queueLength: 1_000_000 });

interface CompressedFor {
  readonly request: HttpRequest;
  /** The user of the request, who shares the threads with others. */
  readonly path: SharePath;
}

/** Compresses a large complete answer when the client accepts gzip and is still connected. Returns any other answer unchanged. */
export async function compressed(response: HttpResponse, { request, path }: CompressedFor): Promise<HttpResponse> {
  const { body } = response;
  if (!isCompressible(body) || !acceptsGzip(request)) return response;
  const turn = threads.enter(path);
  if (turn !== undefined) await turn;
  try {
    // The client disconnected while the answer waited for a thread.
    if (request.signal.aborted) return response;
    return packed(response, await compress(body, { level: constants.Z_BEST_SPEED }));
  } finally {
    threads.leave(path);
  }
}

const packed = (response: HttpResponse, body: Buffer): HttpResponse => ({
  ...response,
  headers: {
    ...response.headers,
    "content-encoding": "gzip",
    vary: [response.headers["vary"] ?? [], "Accept-Encoding"].flat().join(", "),
  },
  body,
});

/** Whether `compressed` might compress. When false, the request path need not await it. */
export const isCompressible = (body: HttpResponse["body"]): body is string | Buffer =>
  isWholeBody(body) && body.length >= minimumCompressedBytes;

function acceptsGzip(request: HttpRequest): boolean {
  const value = request.headers["accept-encoding"];
  return (
    value !== undefined &&
    String(value)
      .split(",")
      .some((coding) => /^gzip(?!.*;\s*q=0(?:\.0*)?$)/.test(coding.trim()))
  );
}
