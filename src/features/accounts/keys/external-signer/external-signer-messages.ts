import { noBytes } from "../../../../machinery/api/bytes/no-bytes.ts";
import { ProtobufReader, ProtobufWriter } from "../../../../machinery/schema/protobuf/protobuf-wire.ts";

// The messages of upstream's external signer (`k8s.io/externaljwt/apis/v1/api.proto`). Decoding throws ProtobufError.

export interface SignAnswer {
  /** The first part of the token, base64url-encoded. */
  readonly header: string;
  /** The last part of the token, base64url-encoded. */
  readonly signature: string;
}

export interface FetchKeysAnswer {
  readonly keys: readonly FetchedKey[];
  /** When the signer loaded the keys from its storage, in seconds since the epoch. Undefined: the signer does not say. */
  readonly dataTimestampSeconds: number | undefined;
  readonly refreshHintSeconds: number;
}

export interface FetchedKey {
  readonly keyId: string;
  /** The SubjectPublicKeyInfo in DER. */
  readonly spki: Buffer;
  readonly isExcludedFromDiscovery: boolean;
}

export function encodeSignRequest(claims: string): Buffer {
  const writer = new ProtobufWriter();
  writer.stringField(1, claims);
  return writer.finish();
}

export function decodeSignAnswer(message: Uint8Array): SignAnswer {
  const reader = new ProtobufReader(message);
  let [header, signature] = ["", ""];
  while (reader.nextField()) {
    if (reader.field === 1) header = reader.string();
    else if (reader.field === 2) signature = reader.string();
  }
  return { header, signature };
}

export function decodeFetchKeysAnswer(message: Uint8Array): FetchKeysAnswer {
  const reader = new ProtobufReader(message);
  const keys: FetchedKey[] = [];
  let dataTimestampSeconds: number | undefined;
  let refreshHintSeconds = 0;
  while (reader.nextField()) {
    if (reader.field === 1) keys.push(decodeKey(reader.message()));
    else if (reader.field === 2) dataTimestampSeconds = reader.message().int64At(1);
    else if (reader.field === 3) refreshHintSeconds = reader.int64();
  }
  return { keys, dataTimestampSeconds, refreshHintSeconds };
}

export const decodeMetadataAnswer = (message: Uint8Array): { readonly maximumTokenExpirationSeconds: number } => ({
  maximumTokenExpirationSeconds: new ProtobufReader(message).int64At(1),
});

function decodeKey(reader: ProtobufReader): FetchedKey {
  let keyId = "";
  let spki = noBytes;
  let isExcludedFromDiscovery = false;
  while (reader.nextField()) {
    if (reader.field === 1) keyId = reader.string();
    else if (reader.field === 2) spki = Buffer.from(reader.bytes());
    else if (reader.field === 3) isExcludedFromDiscovery = reader.boolean();
  }
  return { keyId, spki, isExcludedFromDiscovery };
}
