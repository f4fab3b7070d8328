import { DerReader, tags } from "./der.ts";
import { encodeBoolean, encodeObjectIdentifier, encodeOctetString, encodeSequence } from "./der-writer.ts";
import { PkiError } from "./pki-error.ts";

/** RFC 5280 4.1: one extension of a certificate or a request. */
export interface Extension {
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Buffer;
}

/** A request with more is an attack: real certificates have at most about twenty. */
const maximumExtensions = 256;

/** Parses the content of an Extensions sequence. `duplicateMessage` makes the error message for a repeated id. */
export function parseExtensions(content: Buffer, duplicateMessage: (id: string) => string): Extension[] {
  const reader = new DerReader(content);
  const extensions: Extension[] = [];
  const seen = new Set<string>();
  while (!reader.isAtEnd) {
    const extension = reader.readSequence("Extension");
    const id = extension.readObjectIdentifier();
    const isCritical = extension.nextTag === tags.boolean ? extension.readBoolean() : false;
    const value = extension.read(tags.octetString, "");
    extension.expectEnd();
    if (seen.has(id)) throw new PkiError(duplicateMessage(id));
    if (seen.size === maximumExtensions) throw new PkiError("x509: too many extensions");
    seen.add(id);
    extensions.push({ id, isCritical, value });
  }
  return extensions;
}

export const encodeExtension = ({ id, isCritical, value }: Extension): Buffer =>
  isCritical
    ? encodeSequence(encodeObjectIdentifier(id), encodeBoolean(true), encodeOctetString(value))
    : encodeSequence(encodeObjectIdentifier(id), encodeOctetString(value));
