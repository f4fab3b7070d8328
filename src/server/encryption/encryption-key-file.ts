import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import type { NamedKey } from "../../machinery/storage/encryption/aes-gcm.ts";
import type { EncryptionSettings } from "../settings/encryption-settings.ts";

const flag = "encryption-key-file";
const keyBytes = 32;
/** The most keys of a file. Nobody rotates more often before retiring old keys. */
const maximumKeys = 64;
const comment =
  "# Keys that encrypt Secrets (AES-256-GCM), base64. The first one writes, all read. Change it with signet encryption.\n";

/** The file with the keys for Secrets: the configured one, or the data directory's. */
export const encryptionKeyFile = ({ keyFile }: EncryptionSettings, dataDirectory: string): string =>
  keyFile ?? join(dataDirectory, "encryption.key");

/**
 * Reads the keys of the file; undefined when it is missing. The data directory's own file must be private, as strictly as ssh requires. A
 * file that a flag names may come from a service manager, with a mode of its own. Throws UsageError and UnusableFile.
 */
export function readEncryptionKeys(settings: EncryptionSettings, dataDirectory: string): NamedKey[] | undefined {
  const file = encryptionKeyFile(settings, dataDirectory);
  if (settings.keyFile === undefined) {
    const text = readPrivateFile(file);
    return text === undefined ? undefined : parseEncryptionKeys(text, { file, advice: "restore it from a backup" });
  }
  if (existsSync(file)) {
    return parseEncryptionKeys(readFollowedFile(flag, file), {
      file: `--${flag}: ${file}`,
      advice: "name the file with the keys, or restore it from a backup",
    });
  }
  throw new UsageError(
    `--${flag}: ${file} does not exist: name the file with the keys; or, where nothing is encrypted yet, make a key with ` +
      `"openssl rand -base64 32 > ${file}"`,
  );
}

interface KeyFile {
  /** The name of the file in messages. */
  readonly file: string;
  /** What to do when the file contains something else. */
  readonly advice: string;
}

/** Throws UsageError. No message quotes what is in the file. */
function parseEncryptionKeys(text: string, { file, advice }: KeyFile): NamedKey[] {
  const lines = text
    .split("\n")
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"));
  if (lines.length === 0) throw new UsageError(`${file} holds no key: ${advice}`);
  const keys = lines.slice(0, maximumKeys + 1).map(({ line, number }) => {
    const secret = Buffer.from(line, "base64");
    if (secret.length !== keyBytes || secret.toString("base64") !== line) {
      throw new UsageError(`${file}, line ${number}: must be the base64 of ${keyBytes} bytes: ${advice}`);
    }
    return { name: nameOf(secret), secret };
  });
  if (keys.length > maximumKeys) throw new UsageError(`${file} holds more than ${maximumKeys} keys: retire old ones`);
  return keys;
}

/** Replaces the file. The first key is the one that encrypts. */
export const writeEncryptionKeys = (file: string, keys: readonly NamedKey[]): void =>
  writePrivateFile(file, comment + keys.map(({ secret }) => `${secret.toString("base64")}\n`).join(""));

export function newEncryptionKey(): NamedKey {
  const secret = randomBytes(keyBytes);
  return { name: nameOf(secret), secret };
}

/** The name of a key, which precedes each value that needs the key. The key cannot be computed from it. */
const nameOf = (secret: Buffer): string =>
  createHash("sha256").update("signet encryption key\n").update(secret).digest("hex").slice(0, 16);
