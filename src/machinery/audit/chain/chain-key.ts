import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { writePrivateFile, writePublicFile } from "../../files/atomic-file.ts";
import { readPrivateFile } from "../../files/private-file.ts";
import { UnusableFile } from "../../files/unusable-file.ts";

/** Reads an Ed25519 key in PEM. Throws UnusableFile for a file that other users may read, and for a file with other content. */
export function readChainKey(file: string): KeyObject {
  const pem = readPrivateFile(file);
  if (pem === undefined)
    throw new UnusableFile(`${file}: there is no such file; make one with openssl genpkey -algorithm ed25519`);
  return parsed(file, pem);
}

/** Reads the server's own key in the same way. Creates the file (mode 0600) if it does not exist. */
export function ownChainKey(file: string): KeyObject {
  const pem = readPrivateFile(file);
  if (pem !== undefined) return parsed(file, pem);
  const { privateKey } = generateKeyPairSync("ed25519");
  writePrivateFile(file, privateKey.export({ type: "pkcs8", format: "pem" }));
  return privateKey;
}

/** Writes the public key for those who verify the log. */
export const writePublicKey = (file: string, privateKey: KeyObject): void =>
  writePublicFile(file, createPublicKey(privateKey).export({ type: "spki", format: "pem" }));

/** Throws an Error for anything but an Ed25519 public key in PEM. */
export function parsePublicKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw new Error("it holds no public key in PEM; name the audit-log.pub of the server", { cause });
  }
  if (key.asymmetricKeyType !== "ed25519")
    throw new Error("its key is not of the type Ed25519; name the audit-log.pub of the server");
  return key;
}

function parsed(file: string, pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new UnusableFile(`${file} holds no private key in PEM; name another`, { cause });
  }
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new UnusableFile(
    `${file}: its key is not of the type Ed25519; make one with openssl genpkey -algorithm ed25519`,
  );
}
