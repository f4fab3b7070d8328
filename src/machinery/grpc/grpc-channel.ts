import { connect, constants } from "node:http2";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  SecureClientSessionOptions,
} from "node:http2";
import { connect as connectSocket } from "node:net";
import { GrpcError, grpcStatus } from "./grpc-error.ts";
import { encodeFrame, FrameReader } from "./grpc-frames.ts";

export interface TlsFiles {
  /** PEM of the CAs that the server's certificate must chain to. Absent: the system's CAs. */
  readonly ca?: string;
  /** PEM of the client certificate and its private key. */
  readonly cert?: string;
  readonly key?: string;
}

interface ChannelOptions {
  /** `http://host:port`, `https://host:port`, or `unix:///path` of a socket. */
  readonly url: string;
  readonly tls?: TlsFiles;
  readonly timeoutMilliseconds: number;
  /** Sent with each call, beside those that gRPC needs. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A longer message is not read. Default: 512 MiB, larger than any page of a range. */
  readonly maximumMessageBytes?: number;
}

/** Receives the messages of one call in order, then its end once (undefined: success). */
export interface CallObserver {
  onMessage(message: Buffer): void;
  onEnd(error: GrpcError | undefined): void;
}

export interface Call {
  send(message: Uint8Array): void;
  /** Ends the call. No callback runs afterwards. */
  cancel(): void;
}

const socketScheme = "unix://";
const WINDOW_BYTES = 16 * 2 ** 20;
/** etcd treats pings more often than every 5 s as an attack (`--grpc-keepalive-min-time`). */
const PING_INTERVAL_MILLISECONDS = 6_000;
const PING_TIMEOUT_MILLISECONDS = 3_000;

/** One HTTP/2 connection for gRPC calls. Implements the part of gRPC that etcd and plugins need, on Node.js's HTTP/2. */
export class GrpcChannel {
  readonly url: string;
  readonly #session: ClientHttp2Session;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #maximumMessageBytes: number;
  #isPonged = true;
  #openStreams = 0;

  private constructor(
    { url, headers = {}, maximumMessageBytes = 512 * 2 ** 20 }: ChannelOptions,
    session: ClientHttp2Session,
  ) {
    this.url = url;
    this.#session = session;
    this.#headers = headers;
    this.#maximumMessageBytes = maximumMessageBytes;
    const pings = setInterval(() => this.#ping(), PING_INTERVAL_MILLISECONDS);
    pings.unref();
    session.once("close", () => clearInterval(pings));
  }

  /** Resolves once the HTTP/2 connection is established. Rejects with GrpcError (unavailable). */
  static connect(options: ChannelOptions): Promise<GrpcChannel> {
    const { url, tls = {}, timeoutMilliseconds } = options;
    const socketPath = url.startsWith(socketScheme) ? url.slice(socketScheme.length) : undefined;
    return new Promise((resolve, reject) => {
      const tlsOptions: SecureClientSessionOptions = url.startsWith("https:") ? { ...tls, minVersion: "TLSv1.2" } : {};
      const session = connect(socketPath === undefined ? url : "http://localhost", {
        ...tlsOptions,
        ...(socketPath !== undefined && { createConnection: () => connectSocket({ path: socketPath }) }),
        maxSessionMemory: 1024,
        settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
      });
      const fail = (cause?: unknown): void => {
        clearTimeout(timer);
        session.destroy();
        reject(unavailable(`${url} can't be reached: ${messageOf(cause)}`, { mayHaveRun: false, cause }));
      };
      const timer = setTimeout(() => fail(new Error("no answer in time")), timeoutMilliseconds);
      session.on("error", fail); // stays for later errors too: calls report them, but an error event without a listener ends the process
      session.once("close", fail);
      session.once("remoteSettings", () => {
        clearTimeout(timer);
        session.off("close", fail);
        session.setLocalWindowSize(WINDOW_BYTES);
        resolve(new GrpcChannel(options, session));
      });
    });
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** Closes the connection. Running calls fail as unavailable. */
  close(): void {
    this.#session.destroy();
  }

  /** A call with one request message and one response message. Rejects with GrpcError. */
  unary(path: string, message: Uint8Array, timeoutMilliseconds: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const timer = setTimeout(() => {
        call.cancel();
        reject(new GrpcError(`${this.url} did not answer`, { code: grpcStatus.deadlineExceeded, mayHaveRun: true }));
      }, timeoutMilliseconds);
      const call = this.stream(path, {
        onMessage: (received) => (answer = received),
        onEnd: (error) => {
          clearTimeout(timer);
          if (error !== undefined) reject(error);
          else if (answer !== undefined) resolve(answer);
          else reject(unavailable(`${this.url} answered nothing`, { mayHaveRun: true }));
        },
      });
      call.send(message);
      call.end();
    });
  }

  /** A call that streams messages. `onEnd` is never called before this method returns. */
  stream(path: string, observer: CallObserver): Call & { end(): void } {
    const stream = this.#open(path);
    if (stream instanceof GrpcError) {
      const ending = setImmediate(() => observer.onEnd(stream));
      return { send: () => {}, end: () => {}, cancel: () => clearImmediate(ending) };
    }
    let isEnded = false;
    let status: GrpcError | "ok" | undefined;
    const end = (error: GrpcError | undefined): void => {
      if (isEnded) return;
      isEnded = true;
      observer.onEnd(error);
    };
    const readStatus = (headers: IncomingHttpHeaders): void => {
      status = statusOf(headers, this.url) ?? status;
    };
    const frames = new FrameReader(this.#maximumMessageBytes);
    let failure: unknown;
    stream.on("response", readStatus);
    stream.on("trailers", readStatus);
    stream.on("data", (chunk: Buffer) => {
      if (isEnded) return;
      try {
        for (const message of frames.push(chunk)) if (!isEnded) observer.onMessage(message);
      } catch (error) {
        end(error instanceof GrpcError ? error : unavailable(messageOf(error), { mayHaveRun: true, cause: error }));
        stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on("error", (error) => (failure = error));
    stream.once("close", () => {
      if (status !== undefined) return end(status === "ok" ? undefined : status);
      const mayHaveRun = stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM;
      end(unavailable(`the connection to ${this.url} was lost: ${messageOf(failure)}`, { mayHaveRun, cause: failure }));
    });
    return {
      send: (message) => void (stream.writable && stream.write(encodeFrame(message))),
      end: () => void stream.end(),
      cancel: () => {
        isEnded = true;
        stream.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  #open(path: string): ClientHttp2Stream | GrpcError {
    // Node.js would still create a stream, and fail it as if it had been sent.
    if (!this.isOpen) return unavailable(`${this.url} is not connected`, { mayHaveRun: false });
    try {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        ...this.#headers,
      });
      this.#openStreams++;
      stream.once("close", () => this.#openStreams--);
      return stream;
    } catch (cause) {
      return unavailable(`${this.url} is not connected`, { mayHaveRun: false, cause });
    }
  }

  /**
   * Detects a peer that disappeared without closing the connection. Pings run only while calls do: no caller waits for an
   * idle connection, and etcd treats pings on one as an attack and closes it after the fourth (too_many_pings).
   */
  #ping(): void {
    if (!this.isOpen || !this.#isPonged || this.#openStreams === 0) return;
    this.#isPonged = false;
    const timer = setTimeout(() => this.close(), PING_TIMEOUT_MILLISECONDS);
    timer.unref();
    this.#session.ping((error) => {
      this.#isPonged = true;
      if (error === null) clearTimeout(timer);
    });
  }
}

const unavailable = (message: string, options: { readonly mayHaveRun: boolean; readonly cause?: unknown }): GrpcError =>
  new GrpcError(message, { code: grpcStatus.unavailable, ...options });

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : "it was closed");

/** The server's result of the call. Undefined when these headers do not contain one yet. */
function statusOf(headers: IncomingHttpHeaders, url: string): GrpcError | "ok" | undefined {
  const code = headers["grpc-status"];
  if (code === "0") return "ok";
  if (code === undefined) {
    const httpStatus = headers[":status"] as number | undefined; // a number in response headers, absent in trailers
    if (httpStatus === undefined || httpStatus === 200) return undefined;
    return unavailable(`${url} answered with HTTP status ${httpStatus}`, { mayHaveRun: true });
  }
  const message = headers["grpc-message"];
  return new GrpcError(typeof message === "string" ? percentDecoded(message) : `status ${String(code)}`, {
    code: Number(code),
    mayHaveRun: true,
  });
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Calls of a plugin, each with one message and one answer. */
interface UnaryClient {
  /** `path` is `/<package>.<service>/<method>`. Rejects with GrpcError when the plugin fails, or does not answer in time. */
  call(path: string, message: Uint8Array): Promise<Buffer>;
  close(): void;
}

/** `timeoutMilliseconds` is for each call, and for the connection. */
type UnaryClientOptions = Pick<ChannelOptions, "url" | "timeoutMilliseconds" | "maximumMessageBytes">;

/** Calls a plugin over one connection, which is opened again for the next call when it was lost. */
export function unaryClient(options: UnaryClientOptions): UnaryClient {
  let channel: GrpcChannel | undefined;
  let connecting: Promise<GrpcChannel> | undefined;
  let isClosed = false;
  const connect = async (): Promise<GrpcChannel> => {
    if (channel?.isOpen === true) return channel;
    connecting ??= GrpcChannel.connect(options).finally(() => (connecting = undefined));
    channel = await connecting;
    if (isClosed) channel.close();
    return channel;
  };
  return {
    async call(path, message) {
      const open = await connect();
      return await open.unary(path, message, options.timeoutMilliseconds);
    },
    close() {
      isClosed = true;
      channel?.close();
    },
  };
}
