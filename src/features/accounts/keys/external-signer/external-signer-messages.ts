import { bytesType, ProtobufReader, ProtobufWriter } from "../../../../machinery/schema/protobuf-wire.ts";

/** The messages of upstream's external signer (`k8s.io/externaljwt/apis/v1/api.proto`). Decoding throws ProtobufError. */
export interface SignAnswer {
  /** The first part of the token, as it stands there. */
  readonly header: string;
  /** The last part of the token, as it stands there. */
  readonly signature: string;
}

export interface FetchKeysAnswer {
  readonly keys: readonly FetchedKey[];
  /** When the signer took the keys from where they are kept, in seconds since the epoch. Undefined: it does not say. */
  readonly dataTimestampSeconds: number | undefined;
  readonly refreshHintSeconds: number;
}

export interface FetchedKey {
  readonly keyId: string;
  /** SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  readonly isExcludedFromDiscovery: boolean;
}

export function encodeSignRequest(claims: string): Buffer {
  const writer = new ProtobufWriter();
  writer.string(claims);
  writer.tag(1, bytesType);
  return writer.finish();
}

export function decodeSignAnswer(message: Uint8Array): SignAnswer {
  const reader = new ProtobufReader(message);
  let [header, signature] = ["", ""];
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) header = reader.string();
    else if (field === 2) signature = reader.string();
    else reader.skip();
  }
  return { header, signature };
}

export function decodeFetchKeysAnswer(message: Uint8Array): FetchKeysAnswer {
  const reader = new ProtobufReader(message);
  const keys: FetchedKey[] = [];
  let dataTimestampSeconds: number | undefined;
  let refreshHintSeconds = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) keys.push(decodeKey(reader.message()));
    else if (field === 2) dataTimestampSeconds = decodeTimestamp(reader.message());
    else if (field === 3) refreshHintSeconds = reader.int64();
    else reader.skip();
  }
  return { keys, dataTimestampSeconds, refreshHintSeconds };
}

export function decodeMetadataAnswer(message: Uint8Array): { readonly maximumTokenExpirationSeconds: number } {
  const reader = new ProtobufReader(message);
  let maximumTokenExpirationSeconds = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) maximumTokenExpirationSeconds = reader.int64();
    else reader.skip();
  }
  return { maximumTokenExpirationSeconds };
}

function decodeKey(reader: ProtobufReader): FetchedKey {
  let keyId = "";
  let spki: Buffer = Buffer.alloc(0);
  let isExcludedFromDiscovery = false;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) keyId = reader.string();
    else if (field === 2) spki = Buffer.from(reader.bytes());
    else if (field === 3) isExcludedFromDiscovery = reader.boolean();
    else reader.skip();
  }
  return { keyId, spki, isExcludedFromDiscovery };
}

function decodeTimestamp(reader: ProtobufReader): number {
  let seconds = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) seconds = reader.int64();
    else reader.skip();
  }
  return seconds;
}
