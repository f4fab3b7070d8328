import type { Duplex } from "node:stream";
import { Http2Client } from "../http2/http2-client.ts";
import type { HeaderFields } from "../http2/request-header-encoder.ts";
import { connectSocket, socketScheme } from "./connect-socket.ts";
import type { TlsFiles } from "./connect-socket.ts";
import { Deadline } from "./deadline.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { Call, CallObserver } from "./grpc-call.ts";
import { AnswerTooLong, GrpcError, grpcStatus, unavailable, Unanswered } from "./grpc-error.ts";
import { messageOf } from "../api/thrown-error.ts";
import { tlsFailure } from "../api/tls-failure.ts";

interface ChannelOptions {
  /** `http://host:port`, `https://host:port`, or `unix:///path` of a socket. */
  readonly url: string;
  readonly tls?: TlsFiles;
  readonly timeoutMilliseconds: number;
  /** Sent with each call, in addition to the headers that gRPC needs. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A longer message is not read. Default: 512 MiB, which is larger than any object or change of a store. */
  readonly maximumMessageBytes?: number;
}

/** The limits of one call. */
export interface CallBounds {
  /** The limit for the whole answer. */
  readonly timeoutMilliseconds: number;
  /** The limit for each wait without any part of the answer. Default: no such limit. */
  readonly silenceMilliseconds?: number;
  /** Default: the limit of the channel. */
  readonly maximumMessageBytes?: number;
}

interface UnaryRequest extends CallBounds {
  readonly message: Uint8Array;
}

const severalAnswers = { code: grpcStatus.internal, mayHaveRun: true };
const maximumWindowBytes = 16 * 2 ** 20;
/** etcd treats pings more often than every 5 s as an attack (`--grpc-keepalive-min-time`). */
const pingIntervalMilliseconds = 6_000;
const pingTimeoutMilliseconds = 3_000;

/** One HTTP/2 connection for gRPC calls. Implements the part of gRPC that etcd and plugins need. */
export class GrpcChannel {
  readonly url: string;
  readonly #client: Http2Client;
  readonly #maximumMessageBytes: number;
  readonly #scheme: string;
  readonly #authority: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** The head of a request for each path. */
  readonly #heads = new Map<string, HeaderFields>();
  #isPonged = true;

  private constructor(
    { url, headers = {}, maximumMessageBytes = 512 * 2 ** 20 }: ChannelOptions,
    { client, onClosed }: { readonly client: Http2Client; readonly onClosed: Promise<void> },
  ) {
    this.url = url;
    this.#client = client;
    this.#scheme = url.startsWith("https:") ? "https" : "http";
    this.#authority = url.startsWith(socketScheme) ? "localhost" : new URL(url).host;
    this.#headers = headers;
    this.#maximumMessageBytes = maximumMessageBytes;
    const pings = setInterval(() => this.#ping(), pingIntervalMilliseconds);
    pings.unref();
    void onClosed.then(() => clearInterval(pings));
  }

  /** Resolves once the HTTP/2 connection is established. Rejects with GrpcError (unavailable, or too late). */
  static connect(options: ChannelOptions): Promise<GrpcChannel> {
    const { url, tls = {}, timeoutMilliseconds } = options;
    const closed = Promise.withResolvers<void>();
    const reasonOf = (cause: unknown): string => (tls.settings ? tlsFailure(cause, tls.settings) : messageOf(cause));
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown, code: number = grpcStatus.unavailable): void =>
        reject(new GrpcError(`${url} can't be reached: ${reasonOf(cause)}`, { code, mayHaveRun: false, cause }));
      let socket: Duplex;
      try {
        socket = connectSocket(url, tls);
      } catch (cause) {
        // For example a certificate and a key that do not match, because only one of the files has been renewed yet.
        return fail(cause);
      }
      let isTooLate = false;
      const timer = setTimeout(() => {
        isTooLate = true;
        client.destroy(new Error("no answer in time"));
      }, timeoutMilliseconds);
      const client = new Http2Client({
        socket,
        windowBytes: maximumWindowBytes,
        onReady: () => {
          clearTimeout(timer);
          resolve(new GrpcChannel(options, { client, onClosed: closed.promise }));
        },
        onClosed: (cause) => {
          clearTimeout(timer);
          closed.resolve();
          fail(cause, isTooLate ? grpcStatus.deadlineExceeded : grpcStatus.unavailable);
        },
      });
    });
  }

  get isOpen(): boolean {
    return this.#client.isOpen;
  }

  /** All received bytes since the connection began, of all calls. The number grows as long as the server sends something. */
  get receivedBytes(): number {
    return this.#client.receivedBytes;
  }

  /** Closes the connection. Running calls fail as unavailable. */
  close(): void {
    this.#client.destroy();
  }

  /**
   * A call with one request message and one response message. Rejects with GrpcError, also for more than one response (with INTERNAL, as
   * gRPC's own clients), and with AnswerTooLong when the answer arrives but exceeds its limits.
   */
  unary(path: string, { message, timeoutMilliseconds, silenceMilliseconds, ...bounds }: UnaryRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const clear = (): void => {
        whole.clear();
        silence?.clear();
      };
      const giveUp = (error: GrpcError): void => {
        clear();
        call.cancel();
        reject(error);
      };
      const call = this.stream(path, {
        ...bounds,
        onPart: () => silence?.restart(),
        onMessage: (received) => {
          if (answer !== undefined) giveUp(new GrpcError(`${this.url} answered more than once`, severalAnswers));
          answer = received;
        },
        onEnd: (error) => {
          clear();
          if (error !== undefined) reject(error);
          else if (answer !== undefined) resolve(answer);
          else reject(unavailable(`${this.url} answered nothing`, { mayHaveRun: true }));
        },
      });
      call.send(message);
      call.end();
      const deadline = (milliseconds: number, toError: () => GrpcError): Deadline =>
        new Deadline({
          milliseconds,
          connection: this.#client,
          onOver: () => giveUp(toError()),
        });
      const failure = { code: grpcStatus.deadlineExceeded, mayHaveRun: true };
      const silent = (): GrpcError => new Unanswered(`${this.url} did not answer`, failure);
      const slow = (): GrpcError =>
        new AnswerTooLong(`${this.url} did not answer in ${timeoutMilliseconds} ms`, failure);
      const whole = deadline(timeoutMilliseconds, silenceMilliseconds === undefined ? silent : slow);
      const silence = silenceMilliseconds === undefined ? undefined : deadline(silenceMilliseconds, silent);
    });
  }

  /** A call that streams messages. `onEnd` is never called before this method returns. */
  stream(path: string, observer: CallObserver): Call {
    if (!this.isOpen) {
      const error = unavailable(`${this.url} is not connected`, { mayHaveRun: false });
      const ending = setImmediate(() => observer.onEnd(error));
      return { send: () => {}, end: () => {}, pause: () => {}, resume: () => {}, cancel: () => clearImmediate(ending) };
    }
    const { url } = this;
    return new GrpcCall({
      url,
      observer,
      maximumMessageBytes: observer.maximumMessageBytes ?? this.#maximumMessageBytes,
      open: (exchange) => this.#client.open(this.#headOf(path), exchange),
    });
  }

  #headOf(path: string): HeaderFields {
    const known = this.#heads.get(path);
    if (known !== undefined) return known;
    const head: HeaderFields = [
      [":method", "POST"],
      [":scheme", this.#scheme],
      [":path", path],
      [":authority", this.#authority],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...Object.entries(this.#headers),
    ];
    this.#heads.set(path, head);
    return head;
  }

  /**
   * Detects a peer that disappeared without closing the connection. Pings are sent only while calls run: no caller waits for an idle
   * connection, and etcd treats pings on an idle connection as an attack and closes it after the fourth (too_many_pings).
   */
  #ping(): void {
    if (!this.#isPonged || this.#client.isIdle) return;
    this.#isPonged = false;
    let { receivedBytes } = this;
    this.#client.ping(() => {
      this.#isPonged = true;
      deadline.clear();
    });
    const deadline = new Deadline({
      milliseconds: pingTimeoutMilliseconds,
      connection: this.#client,
      onOver: () => {
        // On a slow connection, the answer comes after all earlier bytes of the server. These also prove that the server is reachable.
        if (this.receivedBytes === receivedBytes) return this.close();
        receivedBytes = this.receivedBytes;
        deadline.restart();
      },
    });
  }
}

/** Calls of a plugin, each with one message and one answer. */
interface UnaryClient {
  /** `path` is `/<package>.<service>/<method>`. Rejects with GrpcError when the plugin fails, or does not answer in time. */
  call(path: string, message: Uint8Array): Promise<Buffer>;
  close(): void;
}

/** `timeoutMilliseconds` limits each call, and also the opening of the connection. */
type UnaryClientOptions = Pick<ChannelOptions, "url" | "timeoutMilliseconds" | "maximumMessageBytes">;

/**
 * Calls a plugin over one connection. After the connection was lost, or a call on it was not answered, the next call opens another one.
 */
export function unaryClient(options: UnaryClientOptions): UnaryClient {
  const { timeoutMilliseconds } = options;
  let channel: GrpcChannel | undefined;
  let connecting: Promise<GrpcChannel> | undefined;
  let isClosed = false;
  /** Connections that take no more calls. */
  const retired = new Set<GrpcChannel>();
  const connect = async (): Promise<GrpcChannel> => {
    if (channel?.isOpen === true) return channel;
    connecting ??= GrpcChannel.connect(options).finally(() => (connecting = undefined));
    channel = await connecting;
    if (isClosed) channel.close();
    return channel;
  };
  const retire = (silent: GrpcChannel): void => {
    if (channel !== silent) return;
    channel = undefined;
    retired.add(silent);
    const close = (): void => {
      retired.delete(silent);
      silent.close();
    };
    // By then, its other calls have ended.
    setTimeout(close, timeoutMilliseconds).unref();
  };
  return {
    async call(path, message) {
      const open = await connect();
      try {
        return await open.unary(path, { message, timeoutMilliseconds });
      } catch (error) {
        if (error instanceof Unanswered) retire(open);
        throw error;
      }
    },
    close() {
      isClosed = true;
      for (const one of [channel, ...retired]) one?.close();
    },
  };
}
