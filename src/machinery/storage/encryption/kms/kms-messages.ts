import { noBytes } from "../../../api/bytes/no-bytes.ts";
import { ProtobufReader, ProtobufWriter } from "../../../schema/protobuf/protobuf-wire.ts";

/**
 * The messages of KMS v2 (`k8s.io/kms/apis/v2/api.proto`), and the object in which upstream stores what a KMS protects
 * (`apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2/api.proto`). Fields are written last to first, as ProtobufWriter
 * requires.
 */
type Annotations = ReadonlyMap<string, Buffer>;

export interface StatusAnswer {
  readonly version: string;
  readonly health: string;
  readonly keyId: string;
}

/** A data encryption key that the KMS has encrypted. */
export interface WrappedKey {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: Annotations;
}

/** Whether the data encryption key encrypts a value itself, or is the seed of the value's key. */
export const keySource = { aesGcmKey: 0, derivedAesGcmSeed: 1 } as const;

export interface EncryptedObject {
  readonly encryptedData: Buffer;
  readonly wrappedKey: WrappedKey;
  readonly keySource: number;
}

export function decodeStatus(message: Uint8Array): StatusAnswer {
  const reader = new ProtobufReader(message);
  let [version, health, keyId] = ["", "", ""];
  while (reader.nextField()) {
    if (reader.field === 1) version = reader.string();
    else if (reader.field === 2) health = reader.string();
    else if (reader.field === 3) keyId = reader.string();
  }
  return { version, health, keyId };
}

export function encodeEncryptRequest({ plain, uid }: { readonly plain: Buffer; readonly uid: string }): Buffer {
  const writer = new ProtobufWriter();
  writer.stringField(2, uid);
  writer.bytesField(1, plain);
  return writer.finish();
}

export function decodeEncryptAnswer(message: Uint8Array): WrappedKey {
  const reader = new ProtobufReader(message);
  let ciphertext = noBytes;
  let keyId = "";
  const annotations = new Map<string, Buffer>();
  while (reader.nextField()) {
    if (reader.field === 1) ciphertext = Buffer.from(reader.bytes());
    else if (reader.field === 2) keyId = reader.string();
    else if (reader.field === 3) readAnnotation(reader.message(), annotations);
  }
  return { ciphertext, keyId, annotations };
}

export function encodeDecryptRequest({
  wrappedKey: { ciphertext, keyId, annotations },
  uid,
}: {
  readonly wrappedKey: WrappedKey;
  readonly uid: string;
}): Buffer {
  const writer = new ProtobufWriter();
  annotationFields(writer, annotations);
  writer.stringField(3, keyId);
  writer.stringField(2, uid);
  writer.bytesField(1, ciphertext);
  return writer.finish();
}

export function decodeDecryptAnswer(message: Uint8Array): Buffer {
  const reader = new ProtobufReader(message);
  let plain = noBytes;
  while (reader.nextField()) {
    if (reader.field === 1) plain = Buffer.from(reader.bytes());
  }
  return plain;
}

export function encodeEncryptedObject({ encryptedData, wrappedKey, keySource: source }: EncryptedObject): Buffer {
  const writer = new ProtobufWriter();
  if (source !== 0) {
    writer.varintField(5, source);
  }
  annotationFields(writer, wrappedKey.annotations);
  writer.bytesField(3, wrappedKey.ciphertext);
  writer.stringField(2, wrappedKey.keyId);
  writer.bytesField(1, encryptedData);
  return writer.finish();
}

/** Throws ProtobufError. */
export function decodeEncryptedObject(message: Uint8Array): EncryptedObject {
  const reader = new ProtobufReader(message);
  let encryptedData: Buffer = noBytes;
  let ciphertext: Buffer = noBytes;
  let keyId = "";
  let source = 0;
  const annotations = new Map<string, Buffer>();
  while (reader.nextField()) {
    if (reader.field === 1) encryptedData = reader.bytes();
    else if (reader.field === 2) keyId = reader.string();
    // Copied, because it may be kept longer than the value.
    else if (reader.field === 3) ciphertext = Buffer.from(reader.bytes());
    else if (reader.field === 4) readAnnotation(reader.message(), annotations);
    else if (reader.field === 5) source = reader.int32();
  }
  return { encryptedData, wrappedKey: { ciphertext, keyId, annotations }, keySource: source };
}

function readAnnotation(reader: ProtobufReader, annotations: Map<string, Buffer>): void {
  let key = "";
  let value = noBytes;
  while (reader.nextField()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = Buffer.from(reader.bytes());
  }
  annotations.set(key, value);
}

/** Writes the annotations, field 4 of both messages. In protobuf, a map is a list of messages with a key and a value. */
function annotationFields(writer: ProtobufWriter, annotations: Annotations): void {
  for (const [key, value] of [...annotations].toReversed()) {
    writer.messageField(4, () => {
      writer.bytesField(2, value);
      writer.stringField(1, key);
    });
  }
}
