import { createRequire } from "node:module";
import { join } from "node:path";
import { GrpcChannel } from "../../src/machinery/grpc/grpc-channel.ts";
import type { GrpcError } from "../../src/machinery/grpc/grpc-error.ts";

/** What the bench needs of a gRPC client. Messages are bytes: every client carries the same ones. */
export interface BenchClient {
  /** A call with one message each way. */
  unary(path: string, message: Uint8Array): Promise<Buffer>;
  /** Sends one message and gives every answer to `onMessage`, until the call is cancelled. */
  watch(path: string, message: Uint8Array, onMessage: (message: Buffer) => void): () => void;
  close(): void;
}

/** The outcome of a failed call, as its caller sees it. */
export interface ErrorReport {
  /** The fields that a program may rely on. */
  readonly fields: string;
  readonly text: string;
}

export interface ClientKind {
  readonly name: string;
  /** The npm packages that the client needs. */
  readonly packages: readonly string[];
  /** `load` returns the package of a name. */
  open(url: string, load: (name: string) => unknown): BenchClient;
  report(error: unknown): ErrorReport;
}

/**
 * The same windows and pings as `GrpcChannel`, so that no client waits for smaller windows or sends more pings. (Connect can't set
 * the window of the connection, only those of its streams.)
 */
const windowBytes = 16 * 2 ** 20;
const pingIntervalMilliseconds = 6_000;
const pingTimeoutMilliseconds = 3_000;
const callMilliseconds = 5_000;

/** The package as it is installed below a directory; undefined when it is not. */
export function loadFrom(directory: string): (name: string) => unknown {
  const require = createRequire(join(directory, "package.json"));
  return (name) => require(name);
}

export function isInstalled({ packages }: ClientKind, directory: string): boolean {
  const require = createRequire(join(directory, "package.json"));
  try {
    for (const name of packages) require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

const own: ClientKind = {
  name: "own",
  packages: [],
  open(url) {
    let channel: GrpcChannel | undefined;
    let connecting: Promise<GrpcChannel> | undefined;
    const connected = async (): Promise<GrpcChannel> => {
      connecting ??= GrpcChannel.connect({ url, tls: {}, timeoutMilliseconds: callMilliseconds }).finally(
        () => (connecting = undefined),
      );
      return (channel = await connecting);
    };
    return {
      async unary(path, message) {
        const open = channel?.isOpen === true ? channel : await connected();
        return await open.unary(path, { message, timeoutMilliseconds: callMilliseconds });
      },
      watch(path, message, onMessage) {
        if (channel === undefined) throw new Error("a unary call must have connected the client");
        const call = channel.stream(path, { onMessage, onEnd: () => {} });
        call.send(message);
        return () => call.cancel();
      },
      close: () => channel?.close(),
    };
  },
  report(error) {
    const { code, mayHaveRun, message } = error as GrpcError; // nothing else rejects a call
    return { fields: `code ${code}, mayHaveRun ${mayHaveRun}`, text: message };
  },
};

/** The part of @grpc/grpc-js that is used. */
interface GrpcJs {
  readonly Client: new (address: string, credentials: unknown, options: object) => GrpcJsClient;
  readonly Metadata: new () => { set(name: string, value: string): void };
  readonly credentials: { createInsecure(): unknown };
}

type Codec = (bytes: Buffer) => Buffer;

interface GrpcJsClient {
  makeUnaryRequest(
    path: string,
    serialize: Codec,
    deserialize: Codec,
    message: Uint8Array,
    metadata: unknown,
    options: { readonly deadline: number },
    callback: (error: Error | null, answer?: Buffer) => void,
  ): void;
  makeBidiStreamRequest(
    path: string,
    serialize: Codec,
    deserialize: Codec,
    metadata: unknown,
  ): {
    on(event: "data" | "error", listener: (value: Buffer) => void): void;
    write(message: Uint8Array): void;
    cancel(): void;
  };
  close(): void;
}

const unchanged: Codec = (bytes) => bytes;

const grpcJs: ClientKind = {
  name: "@grpc/grpc-js",
  packages: ["@grpc/grpc-js"],
  open(url, load) {
    const { Client, Metadata, credentials } = load("@grpc/grpc-js") as GrpcJs; // what it exports
    const metadata = new Metadata();
    metadata.set("hasleader", "true");
    const client = new Client(new URL(url).host, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.keepalive_time_ms": pingIntervalMilliseconds,
      "grpc.keepalive_timeout_ms": pingTimeoutMilliseconds,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_http_proxy": 0,
      // The client's default pauses would be one second, and up to two minutes.
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 100,
      "grpc-node.flow_control_window": windowBytes,
    });
    return {
      unary: (path, message) =>
        new Promise((resolve, reject) => {
          const deadline = Date.now() + callMilliseconds;
          client.makeUnaryRequest(path, unchanged, unchanged, message, metadata, { deadline }, (error, answer) => {
            if (answer === undefined) reject(error ?? new Error("neither an answer nor an error"));
            else resolve(answer);
          });
        }),
      watch(path, message, onMessage) {
        const call = client.makeBidiStreamRequest(path, unchanged, unchanged, metadata);
        call.on("data", onMessage);
        call.on("error", () => {});
        call.write(message);
        return () => call.cancel();
      },
      close: () => client.close(),
    };
  },
  report(error) {
    const { code, details } = error as { readonly code: number; readonly details: string }; // its ServiceError
    return { fields: `code ${code}`, text: details };
  },
};

/** The parts of @connectrpc/connect-node and @bufbuild/protobuf that are used. */
interface ConnectNode {
  readonly Http2SessionManager: new (url: string, pings: object, options: object) => { abort(): void };
  createGrpcTransport(options: { readonly baseUrl: string; readonly sessionManager: unknown }): ConnectTransport;
}

interface ConnectTransport {
  unary(
    method: object,
    signal: undefined,
    timeoutMilliseconds: number,
    headers: object,
    message: UnknownFields,
  ): Promise<{ readonly message: UnknownFields }>;
  stream(
    method: object,
    signal: AbortSignal,
    timeoutMilliseconds: undefined,
    headers: object,
    messages: AsyncIterable<UnknownFields>,
  ): Promise<{ readonly message: AsyncIterable<UnknownFields> }>;
}

/**
 * A `google.protobuf.Empty`: protobuf-es keeps the fields that it does not know as bytes, and writes them back. So it
 * carries any message at a cost of about 13 µs. Connect has no codec that leaves bytes unchanged.
 */
interface UnknownFields {
  readonly $typeName: "google.protobuf.Empty";
  readonly $unknown?: readonly { readonly no: number; readonly wireType: number; readonly data: Uint8Array }[];
}

/** One unknown field that holds the whole message except its first tag. All of etcd's fields have tags of one byte. */
function asUnknownFields(message: Uint8Array): UnknownFields {
  const [tag] = message;
  if (tag === undefined) return { $typeName: "google.protobuf.Empty" };
  return {
    $typeName: "google.protobuf.Empty",
    $unknown: [{ no: tag >> 3, wireType: tag & 7, data: message.subarray(1) }],
  };
}

/** The bytes that were received: the fields are views of them, one after the other. */
function receivedBytes({ $unknown = [] }: UnknownFields): Buffer {
  const first = $unknown[0]?.data;
  const last = $unknown.at(-1)?.data;
  if (first === undefined || last === undefined) return Buffer.alloc(0);
  const start = first.byteOffset - 1;
  return Buffer.from(first.buffer, start, last.byteOffset + last.length - start);
}

const connect: ClientKind = {
  name: "@connectrpc/connect-node",
  packages: ["@connectrpc/connect", "@connectrpc/connect-node", "@bufbuild/protobuf"],
  open(url, load) {
    const { Http2SessionManager, createGrpcTransport } = load("@connectrpc/connect-node") as ConnectNode; // its exports
    const { EmptySchema } = load("@bufbuild/protobuf/wkt") as { readonly EmptySchema: unknown };
    const sessionManager = new Http2SessionManager(
      url,
      { pingIntervalMs: pingIntervalMilliseconds, pingTimeoutMs: pingTimeoutMilliseconds },
      { maxSessionMemory: 1024, settings: { initialWindowSize: windowBytes, enablePush: false } },
    );
    const transport = createGrpcTransport({ baseUrl: url, sessionManager });
    const headers = { hasleader: "true" };
    const methods = new Map<string, object>();
    const methodOf = (path: string, methodKind: string): object => {
      const known = methods.get(path);
      if (known !== undefined) return known;
      const [, typeName, name] = path.split("/");
      const method = { name, methodKind, parent: { typeName }, input: EmptySchema, output: EmptySchema };
      methods.set(path, method);
      return method;
    };
    return {
      async unary(path, message) {
        const method = methodOf(path, "unary");
        const sent = asUnknownFields(message);
        const { message: answer } = await transport.unary(method, undefined, callMilliseconds, headers, sent);
        return receivedBytes(answer);
      },
      watch(path, message, onMessage) {
        const controller = new AbortController();
        const { signal } = controller;
        async function* messages(): AsyncGenerator<UnknownFields> {
          yield asUnknownFields(message);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        }
        const read = async (): Promise<void> => {
          const method = methodOf(path, "bidi_streaming");
          const answers = await transport.stream(method, signal, undefined, headers, messages());
          for await (const answer of answers.message) onMessage(receivedBytes(answer));
        };
        read().catch(() => {});
        return () => controller.abort();
      },
      close: () => sessionManager.abort(),
    };
  },
  report(error) {
    const { code, rawMessage, cause } = error as {
      readonly code: number;
      readonly rawMessage: string;
      readonly cause?: { readonly code?: string };
    }; // its ConnectError
    const reason = cause?.code === undefined ? "" : `, cause ${cause.code}`;
    return { fields: `code ${code}${reason}`, text: rawMessage };
  },
};

export const clientKinds: readonly ClientKind[] = [own, grpcJs, connect];
