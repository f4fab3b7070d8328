import { generateKeyPair } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { generatePrivateKey } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";

const generateInAnotherThread = promisify(generateKeyPair);

/** Ends with the RSA key before the next one. */
let previous: Promise<unknown> = Promise.resolve();

/**
 * Generates a private key. One for RSA takes up to seconds: another thread makes it, and one after the other, because the look-up of host
 * names needs these threads too. Rejects when `signal` aborts.
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
