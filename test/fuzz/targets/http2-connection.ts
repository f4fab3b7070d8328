import { connect, constants } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { FuzzAnswer, FuzzRequest } from "../fuzz-request.ts";
import { closedWithoutAnswer, NoAnswerError, patienceMilliseconds } from "./fuzz-target.ts";

/** An HTTP/2 client with one connection, which it opens anew when the server has closed it. */
export class Http2Connection {
  readonly #url: string;
  readonly #ca: Buffer;
  #session: ClientHttp2Session | undefined;

  constructor({ url, ca }: { readonly url: string; readonly ca: Buffer }) {
    this.#url = url;
    this.#ca = ca;
  }

  /** Undefined when the runtime refuses to send such a request. */
  async send(request: FuzzRequest): Promise<FuzzAnswer | undefined> {
    const session = this.#connected();
    const stream = openStream(session, request);
    if (stream === undefined) return undefined;
    const answer = await answerOf(stream, request);
    if (answer !== closedWithoutAnswer || !(session.closed || session.destroyed)) return answer;
    // Another input may have ended the connection. Sent alone, this input shows whether it ends the connection itself.
    const alone = new Http2Connection({ url: this.#url, ca: this.#ca });
    const again = openStream(alone.#connected(), request);
    try {
      return again === undefined ? undefined : await answerOf(again, request);
    } finally {
      alone.close();
    }
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  #connected(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const session = connect(this.#url, { ca: this.#ca });
    const forget = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    session.on("error", forget).on("close", forget).on("goaway", forget);
    session.setMaxListeners(0);
    this.#session = session;
    return session;
  }
}

/** Undefined when the runtime refuses to send such a request. */
function openStream(
  session: ClientHttp2Session,
  { method, target, headers, body }: FuzzRequest,
): ClientHttp2Stream | undefined {
  const fields: OutgoingHttpHeaders = { ":method": method, ":path": target };
  for (const [name, value] of headers) {
    const known = fields[name];
    fields[name] = known === undefined ? value : [known, value].flat().map(String);
  }
  try {
    return session.request(fields, { endStream: body.length === 0 });
  } catch {
    return undefined;
  }
}

function answerOf(stream: ClientHttp2Stream, { body }: FuzzRequest): Promise<FuzzAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
  const chunks: Buffer[] = [];
  let answer: FuzzAnswer = closedWithoutAnswer;
  const patience = setTimeout(() => {
    reject(new NoAnswerError("no answer over HTTP/2"));
    stream.destroy();
  }, patienceMilliseconds);
  stream.on("response", (fields) => {
    const headers = new Map(Object.entries(fields).map(([name, value]) => [name, String(value)]));
    const isStream = !headers.has("content-length") && !stream.endAfterHeaders;
    answer = { status: Number(fields[":status"]), headers, body: Buffer.alloc(0), isStream };
    if (isStream) stream.close(constants.NGHTTP2_CANCEL);
  });
  stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
  stream.on("error", () => {});
  stream.on("close", () => {
    clearTimeout(patience);
    resolve(answer === closedWithoutAnswer ? answer : { ...answer, body: Buffer.concat(chunks) });
  });
  if (body.length > 0) stream.end(body);
  return promise;
}
