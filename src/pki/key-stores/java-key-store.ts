import { createHash } from "node:crypto";
import { encodeObjectIdentifier, encodeOctetString, encodeSequence, encodedNull } from "../der/der-writer.ts";
import { privateKeyDer, saltFor, utf16 } from "./key-store-entry.ts";
import type { KeyStoreEntry } from "./key-store-entry.ts";
import { trustedEntries } from "./trust-store.ts";
import type { TrustStore } from "./trust-store.ts";

const magic = 0xfeedfeed;
const version = 2;
const privateKeyEntry = 1;
const trustedCertificateEntry = 2;
/** The algorithm identifier of Sun's own protection of keys, the only one of this format. */
const keyProtector = "1.3.6.1.4.1.42.2.17.1.1";

/**
 * Encodes a store in Java's old format JKS, with one key and its certificates, for programs that read no newer format (specified by
 * `sun.security.provider.JavaKeyStore`). Its protection with SHA-1 is weak, so the mode of the file must protect the key. The same entry
 * results in the same bytes. Java finds only aliases in lower case.
 */
export function encodeJavaKeyStore(entry: KeyStoreEntry): Buffer {
  const password = utf16(entry.password);
  const key = encodeSequence(
    encodeSequence(encodeObjectIdentifier(keyProtector), encodedNull),
    encodeOctetString(protectedKey(entry, password)),
  );
  const contents = Buffer.concat([
    uint32(privateKeyEntry),
    text(entry.alias.toLowerCase()),
    date(entry.createdAt),
    uint32(key.length),
    key,
    uint32(entry.chain.length),
    ...entry.chain.flatMap(certificate),
  ]);
  return encodeStore([contents], password);
}

/**
 * Encodes a store in the same format with certificates only, which Java trusts. The same certificates and password result in the same
 * bytes. Throws PkiError for a certificate that trust stores cannot contain.
 */
export function encodeJavaTrustStore(store: TrustStore): Buffer {
  const entries = trustedEntries(store).map(({ alias, certificate: { der, notBefore } }) =>
    Buffer.concat([uint32(trustedCertificateEntry), text(alias), date(notBefore), ...certificate(der)]),
  );
  return encodeStore(entries, utf16(store.password));
}

function encodeStore(entries: readonly Buffer[], password: Buffer): Buffer {
  const contents = Buffer.concat([uint32(magic), uint32(version), uint32(entries.length), ...entries]);
  return Buffer.concat([contents, sha1(password, Buffer.from("Mighty Aphrodite", "latin1"), contents)]);
}

const certificate = (der: Uint8Array): Uint8Array[] => [text("X.509"), uint32(der.length), der];

function date(milliseconds: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(milliseconds));
  return bytes;
}

/** The protected key: a salt, the key XORed with a stream of digests, and a digest of password and key. */
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

/** Encodes a text in Java's modified UTF-8, which is ASCII for the allowed characters. */
function text(ascii: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(ascii.length);
  return Buffer.concat([length, Buffer.from(ascii, "latin1")]);
}
