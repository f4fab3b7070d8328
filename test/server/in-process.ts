import type { X509Certificate } from "node:crypto";
import type { Headers, HttpResponse } from "../../src/machinery/api/http-message.ts";
import { parseExactly } from "../../src/machinery/schema/parse-json.ts";
import type { RunningServer } from "../../src/server/start-server.ts";
import { readBodyOf } from "../read-body-of.ts";
import type { TestServer } from "../test-server.ts";

export interface SentRequest {
  readonly method?: string;
  readonly headers?: Headers;
  /** Bytes and text are sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  /** Empty: no token. Default: none, or the administrator's in `InProcess`. */
  readonly token?: string;
  /** Of the client, its own first. */
  readonly certificates?: readonly X509Certificate[];
  readonly isWebSocket?: boolean;
}

/** Sends a request through a server's chain, without a connection. */
export async function sendInProcess(
  server: Pick<RunningServer, "handler">,
  target: string,
  { method = "GET", headers = {}, body, token = "", certificates = [], isWebSocket = false }: SentRequest = {},
): Promise<HttpResponse> {
  const [path = "", query = ""] = target.split("?");
  const bytes = bytesOf(body);
  return server.handler({
    method,
    path,
    query,
    headers: {
      "user-agent": "tester/1.0",
      ...(bytes.length > 0 && { "content-type": "application/json" }),
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    connection: { remoteAddress: "127.0.0.1", peerCertificates: certificates },
    readBody: readBodyOf(bytes),
    signal: new AbortController().signal,
    isWebSocket,
  });
}

/** Sends requests to a server of a test, as its administrator unless they have another token. */
export class InProcess {
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
  }

  send(target: string, sent: SentRequest = {}): Promise<HttpResponse> {
    return sendInProcess(this.#server, target, { token: this.#server.adminToken, ...sent });
  }

  /** The parsed body of an answer in JSON. JSON.parse could take its keys for those of an object that the server read before. */
  async json<T = Answer>(target: string, sent?: SentRequest): Promise<T> {
    const { body } = await this.send(target, sent);
    return parseExactly(String(body)) as T;
  }

  /** Starts to read a watch. `events` grows as they arrive. */
  async watch(target: string, sent?: SentRequest): Promise<Reader> {
    const { status, body } = await this.send(target, sent);
    if (status !== 200 || typeof body === "string" || Buffer.isBuffer(body)) {
      throw new Error(`no watch but ${status}: ${String(body)}`);
    }
    return new Reader((sink) => body.start(sink));
  }
}

/** The parts of bodies that tests use. */
export interface Answer {
  readonly kind: string;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: {
    readonly name: string;
    readonly causes?: readonly { readonly field: string; readonly message: string }[];
  };
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly operation: string;
      readonly subresource?: string;
      readonly fieldsV1: object;
    }[];
  };
  readonly items: readonly Answer[];
  readonly data?: Readonly<Record<string, string>>;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: Answer;
}

type Start = (sink: { write(bytes: Uint8Array): void; bufferedBytes(): number; end(): void }) => () => void;

/** A reader of a watch. */
export class Reader {
  readonly frames: Buffer[] = [];
  isEnded = false;
  /** How many bytes it pretends not to have read. */
  unreadBytes = 0;
  readonly stop: () => void;
  #changed = Promise.withResolvers<void>();

  constructor(start: Start) {
    this.stop = start({
      write: (bytes) => {
        this.frames.push(...framesOf(Buffer.from(bytes)));
        this.#changed.resolve();
      },
      bufferedBytes: () => this.unreadBytes,
      end: () => {
        this.isEnded = true;
        this.#changed.resolve();
      },
    });
  }

  /** For a watch in JSON. */
  get events(): WatchEvent[] {
    return Buffer.concat(this.frames)
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as WatchEvent);
  }

  /** Waits until so many events have arrived. Fails when the watch ends before, and after a minute. */
  async until(count: number): Promise<this> {
    const tooLate = AbortSignal.timeout(60_000); // continues in a test that stops setTimeout
    const fail = (): void => this.#changed.reject(new Error(`${this.#arrived(count)} within a minute`));
    tooLate.addEventListener("abort", fail);
    try {
      while (this.frames.length < count) {
        if (this.isEnded) throw new Error(`${this.#arrived(count)} before the watch ended`);
        this.#changed = Promise.withResolvers();
        await this.#changed.promise;
      }
    } finally {
      tooLate.removeEventListener("abort", fail);
    }
    return this;
  }

  #arrived(count: number): string {
    return `${this.frames.length} of ${count} events came`;
  }
}

/** The frames of one write: lines of JSON, or protobuf with its length before it. */
function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = bytes[0] === openingBrace ? bytes.indexOf("\n", from) + 1 : from + 4 + bytes.readUInt32BE(from);
    frames.push(bytes.subarray(from, to));
    from = to;
  }
  return frames;
}

const openingBrace = 0x7b;

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (body === undefined) return Buffer.alloc(0);
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
