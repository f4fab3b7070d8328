import type { KeyObject } from "node:crypto";
import {
  encodeObjectIdentifier,
  encodeSequence,
  encodeSetOf,
  encodeSmallInteger,
  encodeTagged,
} from "../der/der-writer.ts";
import { encodeDistinguishedName } from "../names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../names/distinguished-name.ts";
import { publicKeyInfoOf } from "../keys/keys.ts";
import { oids } from "../der/object-identifiers.ts";
import { encodePem } from "../pem.ts";
import { sealX509AtOnce } from "../keys/signing-key.ts";
import { encodeSubjectAltNames, hasSubjectAltNames } from "../names/subject-alt-names.ts";
import type { SubjectAltNames } from "../names/subject-alt-names.ts";
import { encodeExtension } from "../certificates/extension.ts";

/** Creates a PKCS #10 request in PEM for the public half of a key, signed with this key. */
export function createCertificateRequestPem(options: {
  readonly privateKey: KeyObject;
  readonly subject: DistinguishedNameParts;
  readonly subjectAltNames: SubjectAltNames;
}): string {
  const { privateKey, subject, subjectAltNames } = options;
  const info = encodeSequence(
    encodeSmallInteger(0),
    encodeDistinguishedName(subject),
    publicKeyInfoOf(privateKey).spki,
    encodeTagged(0, ...attributesFor(subjectAltNames)),
  );
  return encodePem("CERTIFICATE REQUEST", sealX509AtOnce(info, privateKey));
}

function attributesFor(names: SubjectAltNames): Buffer[] {
  if (!hasSubjectAltNames(names)) return [];
  const value = encodeSubjectAltNames(names);
  const extension = encodeExtension({ id: oids.subjectAltName, isCritical: false, value });
  return [encodeSequence(encodeObjectIdentifier(oids.extensionRequest), encodeSetOf([encodeSequence(extension)]))];
}
