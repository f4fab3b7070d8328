import { generateKeyPair } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { generatePrivateKey } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";

const generateInAnotherThread = promisify(generateKeyPair);

/** Resolves when the previous RSA key is finished. */
let previous: Promise<unknown> = Promise.resolve();

/**
 * Generates a private key. An RSA key takes up to seconds, so Node.js' thread pool generates it, and only one at a time, because the
 * look-up of host names needs that pool too. Rejects when `signal` aborts.
 */
export async function generateKey(type: KeyType, signal: AbortSignal): Promise<KeyObject> {
  const [family, bits] = type.split(" ");
  if (family !== "RSA") return generatePrivateKey(type);
  const made = previous.then(() => {
    signal.throwIfAborted();
    return generateInAnotherThread("rsa", { modulusLength: Number(bits) });
  });
  // The key itself would stay in memory.
  const ended = (): void => {};
  previous = made.then(ended, ended);
  const { privateKey } = await made;
  signal.throwIfAborted();
  return privateKey;
}
