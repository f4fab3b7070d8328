import { rmSync } from "node:fs";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import type { sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";

/** Answers a call. Throws a PluginFailure, or any Error for bytes that it cannot use. Undefined: it never answers. */
export type AnswerCall = (request: Buffer) => Buffer | undefined;

/** The gRPC status that a plugin returns when it does not answer with a message. */
export class PluginFailure extends Error {
  readonly code: status;

  constructor(code: status, details: string) {
    super(details);
    this.code = code;
  }
}

/** The failure of a plugin whose own device does not work. */
export const internalFailure = (): PluginFailure => new PluginFailure(status.INTERNAL, "the HSM is on fire");

/** A plugin on gRPC's own library, which listens on a Unix socket. */
export class GrpcPlugin {
  readonly #socket: string;
  #server: Server | undefined;

  constructor(socket: string) {
    this.#socket = socket;
  }

  get endpoint(): string {
    return `unix://${this.#socket}`;
  }

  /** `service` is `<package>.<service>`. */
  async listen(service: string, methods: Readonly<Record<string, AnswerCall>>): Promise<void> {
    const server = new Server();
    const same = (bytes: Buffer): Buffer => bytes;
    const definition = (name: string) => ({
      path: `/${service}/${name}`,
      ...{ requestStream: false, responseStream: false },
      ...{ requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same },
    });
    server.addService(
      Object.fromEntries(Object.keys(methods).map((name) => [name, definition(name)])),
      Object.fromEntries(Object.entries(methods).map(([name, answer]) => [name, handlerOf(answer)])),
    );
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(this.endpoint, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
    this.#server = server;
  }

  /** Ends it at once, with its connections. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
    rmSync(this.#socket, { force: true });
  }
}

const handlerOf =
  (answer: AnswerCall) =>
  (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
    try {
      const message = answer(call.request);
      if (message !== undefined) done(null, message);
    } catch (error) {
      const code = error instanceof PluginFailure ? error.code : status.INVALID_ARGUMENT;
      done({ code, details: error instanceof Error ? error.message : String(error) });
    }
  };
