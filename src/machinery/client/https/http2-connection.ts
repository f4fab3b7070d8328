import { connect, constants } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { errorCode } from "../../api/thrown-error.ts";
import { RequestNotTaken, connectionEnded, connectionTimeout, headersTooLong, isLate } from "./connections.ts";
import type { WireRequest } from "./connections.ts";
import { boundInterimAnswers } from "./bound-interim-answers.ts";
import { BytesBesideAnswers, checkMilliseconds } from "./bytes-beside-answers.ts";
import { UnreadableAnswer } from "../transport.ts";
import type { ClientResponse } from "../transport.ts";

export interface Http2ConnectionOptions {
  readonly server: string;
  readonly onClose: () => void;
}

/** How many bytes of an answer may be in transit. With fewer, long lists would be slow over long distances. */
const windowBytes = 1024 * 1024;
/** A connection on which a request had no answer in time is dead, unless the server answers a PING within this time. */
const pongMilliseconds = 5000;
const keepAliveMilliseconds = 30_000;
/** RFC 9113 section 6.8: a server may say several times that it takes no more requests. Each makes work. */
const maximumGoAways = 10;
/** For the headers of an answer: as many as Node.js takes over HTTP/1.1. */
const headerBytes = 16 * 1024;
/** Each byte of an answer allows one more, for the frame around it. */
const bytesPerAnswerByte = 2;
/** The type of the frame that begins a request (RFC 9113 section 6.2). */
const headersFrame = 1;

/**
 * One connection of HTTP/2. It carries many requests at the same time, as soon as the server has said how many it accepts. An idle
 * connection does not keep the process alive.
 */
export class Http2Connection {
  /** Resolves with the server's settings, the first that it sends (RFC 9113 section 3.4). Rejects when the connection ends before. */
  readonly ready: Promise<void>;
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  readonly #server: string;
  /** Node.js would leave out the brackets of an IPv6 address. */
  readonly #authority: string;
  readonly #besideAnswers = new BytesBesideAnswers();
  #requests = 0;
  #maximumRequests = 0;
  #awaitsPong = false;

  /** `socket` has completed its handshake. */
  constructor(socket: TLSSocket, { server, onClose }: Http2ConnectionOptions) {
    this.#socket = socket.setKeepAlive(true, keepAliveMilliseconds);
    this.#server = server;
    const { host, origin } = new URL(server);
    this.#authority = host;
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    session.once("connect", () => session.setLocalWindowSize(4 * windowBytes));
    session.on("remoteSettings", ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }) => {
      this.#maximumRequests = maxConcurrentStreams;
    });
    let goAways = 0;
    session.on("goaway", () => (++goAways < maximumGoAways ? this.retire() : this.close()));
    session.on("error", () => {}); // its requests fail with the same error
    const bounding = setInterval(() => this.#boundBesideAnswers(), checkMilliseconds).unref();
    session.on("close", () => {
      clearInterval(bounding);
      onClose();
    });
    // In TLS 1.3, a server refuses a client certificate after the handshake. Node.js 26 then leaves the socket open, and the session would
    // wait for its end.
    socket.once("error", () => socket.destroy());
    this.ready = new Promise((resolve, reject) => {
      session.once("remoteSettings", () => {
        session.unref();
        resolve();
      });
      session.once("error", reject);
      session.once("close", () => reject(new RequestNotTaken()));
    });
    this.#session = session;
  }

  /** Whether the connection takes one more request. */
  get hasRoom(): boolean {
    return !this.#session.closed && !this.#awaitsPong && this.#requests < this.#maximumRequests;
  }

  get isIdle(): boolean {
    return this.#requests === 0;
  }

  send(request: WireRequest): Promise<ClientResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.#open(request);
      if (this.#requests++ === 0) this.#session.ref();
      stream.setTimeout(request.silenceMilliseconds, () => {
        stream.destroy(connectionTimeout({ server: this.#server }));
        this.#askForPong();
      });
      boundInterimAnswers(stream, "headers");
      stream.on("response", ({ ":status": status = 0, ...headers }) => {
        this.#besideAnswers.allow(headerBytes);
        resolve({ status, headers, body: this.#bodyOf(stream) });
      });
      stream.on("frameError", (type, code) => {
        if (type !== headersFrame) return;
        // Otherwise the server has said that it takes no more requests, after this one began and before it was sent.
        const areTooLong = code === constants.NGHTTP2_FRAME_SIZE_ERROR;
        reject(areTooLong ? headersTooLong() : new RequestNotTaken());
        // The headers of later requests may refer to these headers, which the server does not have (RFC 7541 section 2.2).
        this.retire();
      });
      let failure: Error | undefined;
      stream.on("error", (error) => (failure = error));
      stream.on("close", () => {
        if (--this.#requests === 0) this.#session.unref();
        // More of the answer may be under way.
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#besideAnswers.allow(windowBytes);
        this.#endWhenDone();
        if (isLate(request.signal)) this.#askForPong();
        const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
        reject(isRefused ? new RequestNotTaken({ cause: failure }) : (failure ?? connectionEnded()));
      });
      stream.end(request.body);
    });
  }

  /** Takes no more requests. Ends when its running requests have ended. */
  retire(): void {
    this.#session.close();
    this.#endWhenDone();
  }

  close(): void {
    this.#end(connectionEnded());
  }

  #open({ method, path, headers, body, signal }: WireRequest): ClientHttp2Stream {
    try {
      return this.#session.request(
        { ...headers, ":method": method, ":path": path, ":authority": this.#authority },
        { endStream: body === undefined, ...(signal && { signal }) },
      );
    } catch (cause) {
      if (this.#session.closed || this.#session.destroyed) throw new RequestNotTaken({ cause });
      throw cause;
    }
  }

  /**
   * Sends a PING to find out whether the connection is dead or the server is only slow. Until the answer, new requests use another
   * connection.
   */
  #askForPong(): void {
    if (this.#awaitsPong || this.#session.destroyed) return;
    this.#awaitsPong = true;
    const isDead = setTimeout(() => this.#end(connectionTimeout({ server: this.#server })), pongMilliseconds);
    isDead.unref();
    this.#session.ping((error) => {
      clearTimeout(isDead);
      this.#awaitsPong = error !== null;
    });
  }

  /**
   * Ends the socket after the last request. Node.js would wait without a limit for the server to close its side, and read all its bytes.
   */
  #endWhenDone(): void {
    if (this.#session.closed && this.#requests === 0) this.#socket.destroy();
  }

  #end(error: Error): void {
    this.#session.destroy(error);
    // The session would wait until all its bytes are sent.
    this.#socket.destroy();
  }

  #boundBesideAnswers(): void {
    const bytes = this.#socket.bytesRead;
    if (!this.#besideAnswers.areTooMany({ bytes, unreadBytes: this.#requests * windowBytes })) return;
    this.#end(new UnreadableAnswer("the server sends frames without end"));
  }

  async *#bodyOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of stream) {
        const part = chunk as Uint8Array; // no encoding is set
        this.#besideAnswers.allow(bytesPerAnswerByte * part.length);
        yield part;
      }
    } catch (error) {
      throw isPrematureClose(error) ? connectionEnded() : error;
    }
    // The streams of a connection that ends also end, but without an error.
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw connectionEnded();
  }
}

const isPrematureClose = (error: unknown): boolean => errorCode(error) === "ERR_STREAM_PREMATURE_CLOSE";
