import { noBytes } from "../../api/bytes/no-bytes.ts";
import type { ProtobufCodec } from "./protobuf.ts";
import { bytesType, ProtobufError, ProtobufReader, ProtobufWriter } from "./protobuf-wire.ts";

export const protobufMediaType = "application/vnd.kubernetes.protobuf";

/** Precedes every object: `k8s` and a zero byte. */
const magic = Buffer.from("k8s\0", "latin1");

/** Upstream's `runtime.Unknown`: the kind of an object, and its bytes. */
export interface Envelope {
  /** Empty when the sender left it out. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The object, as a protobuf message. */
  readonly raw: Buffer;
}

/** Encodes an object as clients expect it: magic bytes, envelope, message. */
export function encodeEnvelope<T extends { readonly apiVersion: string; readonly kind: string }>(
  codec: ProtobufCodec<T>,
  object: T,
): Buffer {
  const message = codec.encode(object);
  return Buffer.concat([envelopeStart(object, message.length), message, envelopeEnd]);
}

/** The bytes before an object's message of this many bytes. `envelopeEnd` follows the message. */
export function envelopeStart(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  messageBytes: number,
): Buffer {
  const writer = new ProtobufWriter();
  writer.varint(messageBytes);
  writer.tag(2, bytesType);
  writer.messageField(1, () => {
    writer.stringField(2, kind);
    writer.stringField(1, apiVersion);
  });
  return Buffer.concat([magic, writer.finish()]);
}

/** An empty contentEncoding and an empty contentType. */
export const envelopeEnd = Buffer.from([3 * 8 + bytesType, 0, 4 * 8 + bytesType, 0]);

/** Decodes an envelope. `raw` is a view of the given bytes. Throws a ProtobufError. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) throw new ProtobufError("empty data");
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(" ")}]`,
    );
  }
  if (bytes.length === magic.length) throw new ProtobufError("empty body");
  const reader = ProtobufReader.bounded(bytes.subarray(magic.length));
  let typeMeta = { apiVersion: "", kind: "" };
  let raw: Buffer = noBytes;
  while (reader.nextField()) {
    if (reader.field === 1) typeMeta = readTypeMeta(reader.message());
    else if (reader.field === 2) raw = reader.bytes();
    // contentEncoding and contentType are not used. Like upstream, refuse values that are no strings.
    else if (reader.field === 3 || reader.field === 4) reader.string();
  }
  return { ...typeMeta, raw };
}

function readTypeMeta(message: ProtobufReader): { apiVersion: string; kind: string } {
  const typeMeta = { apiVersion: "", kind: "" };
  while (message.nextField()) {
    if (message.field === 1) typeMeta.apiVersion = message.string();
    else if (message.field === 2) typeMeta.kind = message.string();
  }
  return typeMeta;
}

/** The number of bytes that hold the length of a watch frame. */
export const watchFrameLengthBytes = 4;

/** Encodes one watch frame: four bytes of length, then a `WatchEvent` whose object is an envelope. */
export function encodeWatchFrame(type: string, envelope: Uint8Array): Buffer {
  const writer = new ProtobufWriter();
  writer.messageField(2, () => writer.bytesField(1, envelope));
  writer.stringField(1, type);
  const event = writer.finish();
  const length = Buffer.alloc(watchFrameLengthBytes);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
