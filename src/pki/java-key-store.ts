import { createHash } from "node:crypto";
import { encodeObjectIdentifier, encodeOctetString, encodeSequence, encodedNull } from "./der-writer.ts";
import { privateKeyDer, saltFor } from "./key-store-entry.ts";
import type { KeyStoreEntry } from "./key-store-entry.ts";

const magic = 0xfeedfeed;
const version = 2;
const privateKeyEntry = 1;
/** Sun's own protection of keys, which is all that the format has. */
const keyProtector = "1.3.6.1.4.1.42.2.17.1.1";

/**
 * A store of Java's old format JKS with one key and its certificates, for programs that read nothing newer (the format is that of
 * `sun.security.provider.JavaKeyStore`). Its protection by SHA-1 is weak: the mode of the file is what protects the key.
 * The same entry gives the same bytes. Java finds aliases in lower case only.
 */
export function encodeJavaKeyStore(entry: KeyStoreEntry): Buffer {
  const password = Buffer.from(entry.password, "utf16le").swap16();
  const key = encodeSequence(
    encodeSequence(encodeObjectIdentifier(keyProtector), encodedNull),
    encodeOctetString(protectedKey(entry, password)),
  );
  const date = Buffer.alloc(8);
  date.writeBigInt64BE(BigInt(entry.createdAt));
  const contents = Buffer.concat([
    uint32(magic),
    uint32(version),
    uint32(1),
    uint32(privateKeyEntry),
    text(entry.alias.toLowerCase()),
    date,
    uint32(key.length),
    key,
    uint32(entry.chain.length),
    ...entry.chain.flatMap((der) => [text("X.509"), uint32(der.length), der]),
  ]);
  const digest = sha1(password, Buffer.from("Mighty Aphrodite", "latin1"), contents);
  return Buffer.concat([contents, digest]);
}

/** A salt, the key under a stream of digests, and a digest of password and key. */
function protectedKey(entry: KeyStoreEntry, password: Buffer): Buffer {
  const salt = saltFor(entry, { purpose: "key salt", bytes: 20 });
  const key = privateKeyDer(entry);
  const hidden = Buffer.from(key);
  let stream = salt;
  for (let offset = 0; offset < hidden.length; offset += stream.length) {
    stream = sha1(password, stream);
    for (const [index, byte] of stream.entries()) {
      if (offset + index < hidden.length) hidden[offset + index] = (hidden[offset + index] ?? 0) ^ byte;
    }
  }
  return Buffer.concat([salt, hidden, sha1(password, key)]);
}

function sha1(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Java's modified UTF-8, which is ASCII for what is allowed here. */
function text(ascii: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(ascii.length);
  return Buffer.concat([length, Buffer.from(ascii, "latin1")]);
}
