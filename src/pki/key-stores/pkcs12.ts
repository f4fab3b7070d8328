import { createCipheriv, createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { tags } from "../der/der.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeSetOf,
  encodeSmallInteger,
  encodeTagged,
  encodedNull,
} from "../der/der-writer.ts";
import { extendedKeyUsages, oids } from "../der/object-identifiers.ts";
import { privateKeyDer, saltFor, utf16 } from "./key-store-entry.ts";
import type { KeyStoreEntry } from "./key-store-entry.ts";
import { saltForCertificates, trustedEntries } from "./trust-store.ts";
import type { TrustStore } from "./trust-store.ts";

const ids = {
  data: "1.2.840.113549.1.7.1",
  shroudedKeyBag: "1.2.840.113549.1.12.10.1.2",
  certificateBag: "1.2.840.113549.1.12.10.1.3",
  x509Certificate: "1.2.840.113549.1.9.22.1",
  friendlyName: "1.2.840.113549.1.9.20",
  localKeyId: "1.2.840.113549.1.9.21",
  /** Oracle's attribute: the extended key usages for which a certificate without a key is trusted. */
  trustedKeyUsage: "2.16.840.1.113894.746875.1.1",
  pbes2: "1.2.840.113549.1.5.13",
  pbkdf2: "1.2.840.113549.1.5.12",
  hmacWithSha256: "1.2.840.113549.2.9",
  aes256Cbc: "2.16.840.1.101.3.4.1.42",
};

/** The number of iterations, as in Java and OpenSSL. The password is in a file beside the store, so more would only cost time. */
const iterations = 10_000;

const explicit = (content: Uint8Array): Buffer => encodeTagged(0, content);

/**
 * Encodes a PKCS #12 store (RFC 7292) with one key and its certificates. The key is encrypted with AES-256 (PBES2, RFC 8018), and the whole
 * store is authenticated with HMAC-SHA-256. The certificates are public, so they are not encrypted. The same entry results in the same
 * bytes. OpenSSL 1.1 and Java 8u301 and later can read it.
 */
export function encodePkcs12(entry: KeyStoreEntry): Buffer {
  const attributes = encodeSetOf([
    friendlyName(entry.alias),
    attribute(ids.localKeyId, encodeOctetString(Uint8Array.of(1))),
  ]);
  const certificates = entry.chain.map((der, index) => certificateBag(der, index === 0 ? [attributes] : []));
  const key = encodeSequence(
    encodeObjectIdentifier(ids.shroudedKeyBag),
    explicit(encryptedPrivateKey(entry)),
    attributes,
  );
  const { password } = entry;
  return encodeStore([certificates, [key]], { password, salt: saltFor(entry, { purpose: "mac salt", bytes: 16 }) });
}

/**
 * Encodes a PKCS #12 store of certificates only, with the attribute that makes Java trust them. It is authenticated like a store with a
 * key. The same certificates and password result in the same bytes. Throws PkiError for a certificate that trust stores cannot contain.
 */
export function encodePkcs12TrustStore(store: TrustStore): Buffer {
  const entries = trustedEntries(store);
  const trusted = attribute(ids.trustedKeyUsage, encodeObjectIdentifier(extendedKeyUsages.any));
  const bags = entries.map(({ alias, certificate }) =>
    certificateBag(certificate.der, [encodeSetOf([friendlyName(alias), trusted])]),
  );
  return encodeStore([bags], { password: store.password, salt: saltForCertificates(entries, 16) });
}

interface StoreProtection {
  readonly password: string;
  /** The salt for deriving the key of the MAC from the password. */
  readonly salt: Buffer;
}

/** `contents`: lists of SafeBags. */
function encodeStore(contents: readonly (readonly Buffer[])[], protection: StoreProtection): Buffer {
  const safe = encodeSequence(
    ...contents.map((bags) => dataContent(encodeElement(tags.sequence, Buffer.concat(bags)))),
  );
  return encodeSequence(encodeSmallInteger(3), dataContent(safe), macData(safe, protection));
}

const certificateBag = (der: Uint8Array, attributes: readonly Buffer[]): Buffer =>
  encodeSequence(
    encodeObjectIdentifier(ids.certificateBag),
    explicit(encodeSequence(encodeObjectIdentifier(ids.x509Certificate), explicit(encodeOctetString(der)))),
    ...attributes,
  );

const attribute = (id: string, value: Buffer): Buffer =>
  encodeSequence(encodeObjectIdentifier(id), encodeSetOf([value]));

const friendlyName = (alias: string): Buffer =>
  attribute(ids.friendlyName, encodeElement(tags.bmpString, utf16(alias)));

const dataContent = (content: Buffer): Buffer =>
  encodeSequence(encodeObjectIdentifier(ids.data), explicit(encodeOctetString(content)));

function encryptedPrivateKey(entry: KeyStoreEntry): Buffer {
  const salt = saltFor(entry, { purpose: "key salt", bytes: 16 });
  const vector = saltFor(entry, { purpose: "key vector", bytes: 16 });
  const cipher = createCipheriv("aes-256-cbc", pbkdf2Sync(entry.password, salt, iterations, 32, "sha256"), vector);
  const parameters = encodeSequence(
    encodeSequence(
      encodeObjectIdentifier(ids.pbkdf2),
      encodeSequence(
        encodeOctetString(salt),
        encodeSmallInteger(iterations),
        encodeSequence(encodeObjectIdentifier(ids.hmacWithSha256), encodedNull),
      ),
    ),
    encodeSequence(encodeObjectIdentifier(ids.aes256Cbc), encodeOctetString(vector)),
  );
  return encodeSequence(
    encodeSequence(encodeObjectIdentifier(ids.pbes2), parameters),
    encodeOctetString(Buffer.concat([cipher.update(privateKeyDer(entry)), cipher.final()])),
  );
}

function macData(safe: Buffer, { password, salt }: StoreProtection): Buffer {
  const mac = createHmac("sha256", macKey(password, salt)).update(safe).digest();
  const digestInfo = encodeSequence(
    encodeSequence(encodeObjectIdentifier(oids.sha256), encodedNull),
    encodeOctetString(mac),
  );
  return encodeSequence(digestInfo, encodeOctetString(salt), encodeSmallInteger(iterations));
}

/** Derives the key of the MAC (RFC 7292 B.2 with SHA-256, ID 3). One block is as long as the key. */
function macKey(password: string, salt: Buffer): Buffer {
  const blockBytes = 64;
  const fill = (bytes: Buffer): Buffer => Buffer.alloc(Math.ceil(bytes.length / blockBytes) * blockBytes, bytes);
  let digest = createHash("sha256")
    .update(Buffer.alloc(blockBytes, 3))
    .update(fill(salt))
    .update(fill(utf16(`${password}\0`)))
    .digest();
  for (let round = 1; round < iterations; round++) digest = createHash("sha256").update(digest).digest();
  return digest;
}
