import type { ApiList } from "../api/object-meta.ts";
import { compileDecoder } from "../schema/decode.ts";
import type { Decoded } from "../schema/decode.ts";
import { listSchema } from "../schema/meta-schemas.ts";
import { compileProtobuf } from "../schema/protobuf.ts";
import type { ProtobufCodec } from "../schema/protobuf.ts";
import type { ObjectSchema } from "../schema/schema.ts";
import { emptyObject } from "./apply/empty-object.ts";
import { compileOwnTimes } from "./apply/own-times.ts";
import type { JsonObject } from "../api/json-object.ts";

/** A schema with what follows from it. Each part is made when it is first used, so that a start does not wait for it, and kept. */
export class CompiledSchema<T = unknown> {
  readonly schema: ObjectSchema<T>;
  #decode: ((value: unknown) => Decoded<T>) | undefined;
  #protobuf: ProtobufCodec<T> | undefined;
  #list: CompiledSchema<ApiList<T>> | undefined;
  #emptyObject: Readonly<JsonObject> | undefined;
  #withOwnTimes: ((value: unknown) => unknown) | undefined;

  constructor(schema: ObjectSchema<T>) {
    this.schema = schema;
  }

  /** See `compileDecoder`. Throws TypeMismatch. */
  decode(value: unknown): Decoded<T> {
    return (this.#decode ??= compileDecoder(this.schema))(value);
  }

  get protobuf(): ProtobufCodec<T> {
    return (this.#protobuf ??= compileProtobuf(this.schema));
  }

  /** The list type, such as `ServiceAccountList`. */
  get list(): CompiledSchema<ApiList<T>> {
    return (this.#list ??= new CompiledSchema(listSchema(this.schema)));
  }

  /** See there. Shared and immutable. */
  get emptyObject(): Readonly<JsonObject> {
    return (this.#emptyObject ??= emptyObject(this.schema));
  }

  /** A value with the times that its structs always have: see `compileOwnTimes`. */
  withOwnTimes(value: unknown): unknown {
    return (this.#withOwnTimes ??= compileOwnTimes(this.schema))(value);
  }
}
