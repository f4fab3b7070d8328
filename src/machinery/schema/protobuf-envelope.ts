import type { ProtobufCodec } from "./protobuf.ts";
import { bytesType, ProtobufError, ProtobufReader, ProtobufWriter } from "./protobuf-wire.ts";

/** The media type of objects in protobuf. */
export const protobufMediaType = "application/vnd.kubernetes.protobuf";

/** Precedes every object: `k8s` and a zero byte. */
const magic = Buffer.from("k8s\0", "latin1");

/** Upstream's `runtime.Unknown`: the kind of an object, and its bytes. */
export interface Envelope {
  /** Empty when the sender left it out. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The object, as a protobuf message or in the encoding of `contentType`. */
  readonly raw: Buffer;
  readonly contentEncoding: string;
  /** "" means protobuf. */
  readonly contentType: string;
}

/** Encodes an object as clients expect it: magic bytes, envelope, message. */
export function encodeEnvelope<T extends { readonly apiVersion: string; readonly kind: string }>(
  codec: ProtobufCodec<T>,
  object: T,
): Buffer {
  const writer = new ProtobufWriter();
  writeString(writer, 4, ""); // contentType
  writeString(writer, 3, ""); // contentEncoding
  writer.bytes(codec.encode(object));
  writer.tag(2, bytesType);
  writer.message(() => {
    writeString(writer, 2, object.kind);
    writeString(writer, 1, object.apiVersion);
  });
  writer.tag(1, bytesType);
  return Buffer.concat([magic, writer.finish()]);
}

function writeString(writer: ProtobufWriter, field: number, value: string): void {
  writer.string(value);
  writer.tag(field, bytesType);
}

/** Decodes an envelope. `raw` is a view of the given bytes. Throws a ProtobufError. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) throw new ProtobufError("empty data");
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(" ")}]`,
    );
  }
  const reader = ProtobufReader.bounded(bytes.subarray(magic.length));
  let typeMeta = { apiVersion: "", kind: "" };
  let raw: Buffer = Buffer.alloc(0);
  let contentEncoding = "";
  let contentType = "";
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) typeMeta = readTypeMeta(reader.message());
    else if (field === 2) raw = reader.bytes();
    else if (field === 3) contentEncoding = reader.string();
    else if (field === 4) contentType = reader.string();
    else reader.skip();
  }
  return { ...typeMeta, raw, contentEncoding, contentType };
}

function readTypeMeta(message: ProtobufReader): { apiVersion: string; kind: string } {
  const typeMeta = { apiVersion: "", kind: "" };
  for (let field = message.nextField(); field !== 0; field = message.nextField()) {
    if (field === 1) typeMeta.apiVersion = message.string();
    else if (field === 2) typeMeta.kind = message.string();
    else message.skip();
  }
  return typeMeta;
}

/** How many bytes say the length of a watch frame. */
export const watchFrameLengthBytes = 4;

/** Encodes one watch frame: four bytes of length, then a `WatchEvent` whose object is an envelope. */
export function encodeWatchFrame(type: string, envelope: Uint8Array): Buffer {
  const writer = new ProtobufWriter();
  writer.message(() => {
    writer.bytes(envelope);
    writer.tag(1, bytesType);
  });
  writer.tag(2, bytesType);
  writeString(writer, 1, type);
  const event = writer.finish();
  const length = Buffer.alloc(watchFrameLengthBytes);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
