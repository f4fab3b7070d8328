import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import type { sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { bytesType, ProtobufReader, ProtobufWriter } from "../../../src/machinery/schema/protobuf-wire.ts";
import { gcm } from "../../../src/machinery/storage/encryption/aes-gcm.ts";

type Fields = ReadonlyMap<number, Buffer>;

/**
 * A KMS v2 plugin on gRPC's own library, with keys in memory. Tests change how it behaves.
 */
export class KmsPlugin {
  readonly #socket: string;
  readonly #keys = new Map<string, Buffer>();
  #server: Server | undefined;
  /** The key that encrypts. */
  keyId = "key-1";
  /** wrong: it answers with what no plugin may answer. silent: it takes calls, and does not answer. */
  behaviour: "works" | "fails" | "silent" | "wrong" | "unhealthy" | "refuses to decrypt" = "works";
  readonly calls = { Status: 0, Encrypt: 0, Decrypt: 0 };

  constructor(socket: string) {
    this.#socket = socket;
  }

  get endpoint(): string {
    return `unix://${this.#socket}`;
  }

  async start(): Promise<void> {
    const server = new Server();
    const method = (
      name: keyof KmsPlugin["calls"],
      answer: (fields: Fields) => readonly (readonly [number, Buffer])[],
    ) => ({
      path: `/v2.KeyManagementService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
      handler: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
        this.calls[name] += 1;
        if (this.behaviour === "silent") return;
        if (this.behaviour === "fails") return done({ code: status.INTERNAL, details: "the HSM is on fire" });
        if (this.behaviour === "refuses to decrypt" && name === "Decrypt") {
          return done({ code: status.PERMISSION_DENIED, details: "not yours" });
        }
        try {
          done(null, messageOf(answer(fieldsOf(call.request))));
        } catch (error) {
          done({ code: status.INVALID_ARGUMENT, details: String(error) });
        }
      },
    });
    const methods = {
      Status: method("Status", () => [
        [1, Buffer.from("v2")],
        [2, Buffer.from(this.behaviour === "unhealthy" ? "no quorum" : "ok")],
        [3, Buffer.from(this.behaviour === "wrong" ? "" : this.keyId)],
      ]),
      Encrypt: method("Encrypt", (fields) => [
        [1, Buffer.concat(gcm(this.#key(this.keyId)).seal(fields.get(1) ?? Buffer.alloc(0), ""))],
        [2, Buffer.from(this.keyId)],
        [
          3,
          messageOf([
            [1, Buffer.from("version.kms.example.com")],
            [2, Buffer.from("1")],
          ]),
        ],
      ]),
      Decrypt: method("Decrypt", (fields) => [
        [1, gcm(this.#key(fields.get(3)?.toString() ?? "")).open(fields.get(1) ?? Buffer.alloc(0), "")],
      ]),
    };
    server.addService(
      methods,
      Object.fromEntries(Object.entries(methods).map(([name, { handler }]) => [name, handler])),
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

  #key(id: string): Buffer {
    const key = this.#keys.get(id) ?? randomBytes(32);
    this.#keys.set(id, key);
    return key;
  }
}

function fieldsOf(message: Buffer): Fields {
  const reader = new ProtobufReader(message);
  const fields = new Map<number, Buffer>();
  while (reader.nextField()) fields.set(reader.field, Buffer.from(reader.bytes()));
  return fields;
}

function messageOf(fields: readonly (readonly [number, Buffer])[]): Buffer {
  const writer = new ProtobufWriter();
  for (const [field, value] of fields.toReversed()) {
    writer.bytes(value);
    writer.tag(field, bytesType);
  }
  return writer.finish();
}
