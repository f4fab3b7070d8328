import type { KeyObject } from "node:crypto";
import { contextTag } from "../../../src/pki/der/der.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSetOf,
  encodeSmallInteger,
} from "../../../src/pki/der/der-writer.ts";
import { encodeDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../../../src/pki/names/distinguished-name.ts";
import { publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { signData, signatureSchemeOf } from "../../../src/pki/keys/sign.ts";
import { encodeExtension } from "../../../src/pki/certificates/extension.ts";
import type { Extension } from "../../../src/pki/certificates/extension.ts";

/** A PKCS #10 request in PEM that asks for extensions of any content. */
export function requestWithExtensions(options: {
  readonly privateKey: KeyObject;
  readonly subject: DistinguishedNameParts;
  readonly extensions: readonly Omit<Extension, "isCritical">[];
  /** The attribute that they are in. Default: that of RFC 2985. */
  readonly attributeType?: string;
}): string {
  const { privateKey, subject, extensions, attributeType = oids.extensionRequest } = options;
  const list = encodeSequence(...extensions.map((one) => encodeExtension({ ...one, isCritical: false })));
  const attribute = encodeSequence(encodeObjectIdentifier(attributeType), encodeSetOf([list]));
  const info = encodeSequence(
    encodeSmallInteger(0),
    encodeDistinguishedName(subject),
    publicKeyInfoOf(privateKey).spki,
    encodeElement(contextTag(0, "constructed"), attribute),
  );
  const signature = encodeBitString(signData(info, privateKey));
  return encodePem(
    "CERTIFICATE REQUEST",
    encodeSequence(info, signatureSchemeOf(privateKey).algorithmIdentifier, signature),
  );
}
