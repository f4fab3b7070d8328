import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { GrpcPlugin, internalFailure, PluginFailure } from "../../../../grpc-plugin.ts";
import type { AnswerCall } from "../../../../grpc-plugin.ts";
import { ProtobufReader, ProtobufWriter } from "../../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { gcm } from "../../../../../src/machinery/storage/encryption/aes-gcm.ts";

type Fields = ReadonlyMap<number, Buffer>;

/**
 * A KMS v2 plugin on gRPC's own library, with keys in memory. Tests change how it behaves.
 */
export class KmsPlugin extends GrpcPlugin {
  readonly #keys = new Map<string, Buffer>();
  /** The key that encrypts. */
  keyId = "key-1";
  /** wrong: it answers with what no plugin may answer. silent: it takes calls, and does not answer. */
  behaviour:
    | "works"
    | "mixes up its answers"
    | "gives one wrong key"
    | "fails"
    | "silent"
    | "wrong"
    | "unhealthy"
    | "refuses to decrypt" = "works";
  /** With which code it refuses to decrypt. */
  refusalCode: status = status.NOT_FOUND;
  /** It does not answer when it is to decrypt with this key. */
  silentKeyId: string | undefined;
  readonly calls = { Status: 0, Encrypt: 0, Decrypt: 0 };

  async start(): Promise<void> {
    const method =
      (
        name: keyof KmsPlugin["calls"],
        answer: (fields: Fields) => readonly (readonly [number, Buffer])[],
      ): AnswerCall =>
      (request) => {
        this.calls[name] += 1;
        if (this.behaviour === "silent") return undefined;
        const fields = fieldsOf(request);
        if (name === "Decrypt" && fields.get(3)?.toString() === this.silentKeyId) return undefined;
        if (this.behaviour === "fails") throw internalFailure();
        if (this.behaviour === "refuses to decrypt" && name === "Decrypt") {
          throw new PluginFailure(this.refusalCode, "not yours");
        }
        return messageOf(answer(fields));
      };
    await this.listen("v2.KeyManagementService", {
      Status: method("Status", () => [
        [1, Buffer.from("v2")],
        [2, Buffer.from(this.behaviour === "unhealthy" ? "no quorum" : "ok")],
        [3, Buffer.from(this.behaviour === "wrong" ? "" : this.keyId)],
      ]),
      Encrypt: method("Encrypt", (fields) => [
        [1, Buffer.concat(gcm(this.#key(this.keyId)).seal(fields.get(1) ?? Buffer.alloc(0), ""))],
        [2, Buffer.from(this.keyId)],
        [3, annotation],
      ]),
      Decrypt: method("Decrypt", (fields) => {
        if (fields.get(4)?.equals(annotation) !== true)
          throw new PluginFailure(status.INVALID_ARGUMENT, "which version?");
        const key = gcm(this.#key(fields.get(3)?.toString() ?? "")).open(fields.get(1) ?? Buffer.alloc(0), "");
        if (this.behaviour === "gives one wrong key") return [[1, Buffer.alloc(32)]];
        return [[1, this.behaviour === "mixes up its answers" ? randomBytes(32) : key]];
      }),
    });
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id) ?? randomBytes(32);
    this.#keys.set(id, key);
    return key;
  }
}

/** Without it, the plugin does not decrypt what it has encrypted. */
const annotation = messageOf([
  [1, Buffer.from("version.kms.example.com")],
  [2, Buffer.from("1")],
]);

function fieldsOf(message: Buffer): Fields {
  const reader = new ProtobufReader(message);
  const fields = new Map<number, Buffer>();
  while (reader.nextField()) fields.set(reader.field, Buffer.from(reader.bytes()));
  return fields;
}

function messageOf(fields: readonly (readonly [number, Buffer])[]): Buffer {
  const writer = new ProtobufWriter();
  for (const [field, value] of fields.toReversed()) writer.bytesField(field, value);
  return writer.finish();
}
