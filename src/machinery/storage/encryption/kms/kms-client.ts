import { randomUUID } from "node:crypto";
import { noBytes } from "../../../api/bytes/no-bytes.ts";
import { unaryClient } from "../../../grpc/grpc-channel.ts";
import {
  decodeDecryptAnswer,
  decodeEncryptAnswer,
  decodeStatus,
  encodeDecryptRequest,
  encodeEncryptRequest,
} from "./kms-messages.ts";
import type { StatusAnswer, WrappedKey } from "./kms-messages.ts";

/** A KMS v2 plugin. Every call rejects with an Error when the plugin fails, or does not answer in time. */
export interface KmsClient {
  status(): Promise<StatusAnswer>;
  encrypt(plain: Buffer): Promise<WrappedKey>;
  decrypt(wrappedKey: WrappedKey): Promise<Buffer>;
  close(): void;
}

export interface KmsClientOptions {
  /** `unix:///path` of the plugin's socket. */
  readonly endpoint: string;
  /** The limit for each call, including the connection. */
  readonly timeoutMilliseconds: number;
}

/** Longer than any valid answer of a plugin, which has at most 1 KiB for a key and 32 KiB of annotations. */
const maximumMessageBytes = 64 * 1024;

/** Calls a plugin over one connection. After a loss, the next call opens a new connection. */
export function kmsClient({ endpoint, timeoutMilliseconds }: KmsClientOptions): KmsClient {
  const client = unaryClient({ url: endpoint, timeoutMilliseconds, maximumMessageBytes });
  const call = (method: string, message: Buffer): Promise<Buffer> =>
    client.call(`/v2.KeyManagementService/${method}`, message);
  return {
    status: async () => decodeStatus(await call("Status", noBytes)),
    encrypt: async (plain) =>
      decodeEncryptAnswer(await call("Encrypt", encodeEncryptRequest({ plain, uid: randomUUID() }))),
    decrypt: async (wrappedKey) =>
      decodeDecryptAnswer(await call("Decrypt", encodeDecryptRequest({ wrappedKey, uid: randomUUID() }))),
    close: () => client.close(),
  };
}
