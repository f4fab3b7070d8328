import { isAscii } from "node:buffer";
import { soleSequence, tags } from "../der/der.ts";
import { encodeElement, encodeObjectIdentifier, encodeSequence, encodeSetOf } from "../der/der-writer.ts";
import { attributeTypes } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";
import { RecentlyParsed } from "../recently-parsed.ts";

interface NameAttribute {
  /** Dotted object identifier. */
  readonly type: string;
  readonly value: string;
}

/**
 * A distinguished name in the form of Go's `pkix.Name`: the common attributes by name (the last CommonName and SerialNumber count), and all
 * attributes in their order.
 */
export interface DistinguishedName {
  readonly commonName: string;
  readonly serialNumber: string;
  readonly countries: readonly string[];
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  readonly localities: readonly string[];
  readonly provinces: readonly string[];
  readonly streetAddresses: readonly string[];
  readonly postalCodes: readonly string[];
  /** The relative distinguished names, in encoding order. */
  readonly relativeNames: readonly (readonly NameAttribute[])[];
}

/** The longest common name (X.520: ub-common-name). */
export const maximumCommonNameLength = 64;

/** A common name with a suffix. A name that would be too long is cut before the suffix. */
export const suffixedCommonName = (name: string, suffix: string): string =>
  name.slice(0, maximumCommonNameLength - suffix.length) + suffix;

/** The attributes of a new name. Attributes that are left out are empty. */
export type DistinguishedNameParts = Partial<Omit<DistinguishedName, "relativeNames">>;

/** The attributes that may have several values, in Go's encoding order. */
const listAttributes = [
  ["countries", attributeTypes.countryName],
  ["provinces", attributeTypes.stateOrProvinceName],
  ["localities", attributeTypes.localityName],
  ["streetAddresses", attributeTypes.streetAddress],
  ["postalCodes", attributeTypes.postalCode],
  ["organizations", attributeTypes.organizationName],
  ["organizationalUnits", attributeTypes.organizationalUnitName],
] as const;
type ListAttribute = (typeof listAttributes)[number][0];
const listOfType = new Map<string, ListAttribute>(listAttributes.map(([name, type]) => [type, name]));

/** The attribute names of RFC 4514, and a few other widely used ones. */
const shortNames = new Map<string, string>([
  [attributeTypes.commonName, "CN"],
  [attributeTypes.serialNumber, "SERIALNUMBER"],
  [attributeTypes.countryName, "C"],
  [attributeTypes.localityName, "L"],
  [attributeTypes.stateOrProvinceName, "ST"],
  [attributeTypes.streetAddress, "STREET"],
  [attributeTypes.organizationName, "O"],
  [attributeTypes.organizationalUnitName, "OU"],
  [attributeTypes.postalCode, "POSTALCODE"],
  [attributeTypes.uid, "UID"],
  [attributeTypes.dc, "DC"],
]);
const typeOfShortName = new Map([...shortNames].map(([type, shortName]) => [shortName, type]));

/** The most attributes. Real names have at most about ten, so more are an attack. */
const maximumAttributes = 1000;

const recent = new RecentlyParsed<DistinguishedName>(256);

/**
 * Reads a Name (RFC 5280 4.1.2.4) from its whole encoding. Throws PkiError. The last names are remembered, because a CA's name is in each
 * of its certificates, and a request's name is in its certificate.
 */
export function parseDistinguishedName(encoded: Buffer): DistinguishedName {
  const text = encoded.toString("latin1");
  return recent.get(text) ?? recent.add(text, readDistinguishedName(encoded));
}

function readDistinguishedName(encoded: Buffer): DistinguishedName {
  if (encoded[0] !== tags.sequence) throw new PkiError("x509: invalid RDNSequence");
  const sequence = soleSequence(encoded, "RDNSequence");
  const relativeNames: NameAttribute[][] = [];
  let count = 0;
  while (!sequence.isAtEnd) {
    const set = sequence.readNested(tags.set, "RelativeDistinguishedNameSET");
    const attributes: NameAttribute[] = [];
    while (!set.isAtEnd) {
      if (++count > maximumAttributes) throw new PkiError("x509: too many attributes in a name");
      const attribute = set.readSequence("AttributeTypeAndValue");
      const type = attribute.readObjectIdentifier();
      const value = attribute.readElement();
      attribute.expectEnd();
      attributes.push({ type, value: decodeString(value.tag, value.content) });
    }
    if (attributes.length === 0) throw new PkiError("x509: invalid RDNSequence");
    relativeNames.push(attributes);
  }
  return viewOf(relativeNames);
}

function viewOf(relativeNames: readonly (readonly NameAttribute[])[]): DistinguishedName {
  let commonName = "";
  let serialNumber = "";
  const lists: { [name in ListAttribute]?: string[] } = {};
  for (const attributes of relativeNames) {
    for (const { type, value } of attributes) {
      const list = listOfType.get(type);
      if (type === attributeTypes.commonName) commonName = value;
      else if (type === attributeTypes.serialNumber) serialNumber = value;
      else if (list !== undefined) (lists[list] ??= []).push(value);
    }
  }
  return {
    commonName,
    serialNumber,
    countries: lists.countries ?? none,
    organizations: lists.organizations ?? none,
    organizationalUnits: lists.organizationalUnits ?? none,
    localities: lists.localities ?? none,
    provinces: lists.provinces ?? none,
    streetAddresses: lists.streetAddresses ?? none,
    postalCodes: lists.postalCodes ?? none,
    relativeNames,
  };
}

const none: readonly string[] = [];

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;
const tolerantlyPrintable = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

/** Decodes an ASN.1 string, as tolerantly as Go (`*` and `&` in PrintableString, T61 as Latin-1). */
function decodeString(tag: number, content: Buffer): string {
  const invalid = (what: string): PkiError =>
    new PkiError(`x509: invalid RDNSequence: invalid attribute value: ${what}`);
  switch (tag) {
    case tags.utf8String:
      try {
        return utf8.decode(content);
      } catch {
        throw invalid("invalid UTF-8 string");
      }
    case tags.printableString: {
      const text = content.toString("latin1");
      if (!tolerantlyPrintable.test(text)) throw invalid("invalid PrintableString");
      return text;
    }
    case tags.ia5String: {
      if (!isAscii(content)) throw invalid("invalid IA5String");
      return content.toString("latin1");
    }
    case tags.numericString: {
      const text = content.toString("latin1");
      if (!/^[0-9 ]*$/.test(text)) throw invalid("invalid NumericString");
      return text;
    }
    case tags.t61String:
      return content.toString("latin1");
    case tags.bmpString:
      return decodeBmpString(content, invalid);
    default:
      throw invalid(`unsupported string type: ${tag}`);
  }
}

function decodeBmpString(content: Buffer, invalid: (what: string) => PkiError): string {
  if (content.length % 2 !== 0) throw invalid("invalid BMPString");
  const text = Buffer.from(content).swap16().toString("utf16le").replace(/\0$/, "");
  if (/[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/.test(text)) throw invalid("invalid BMPString");
  return text;
}

/** The encoded forms of names. A name never changes. */
const encodedNames = new WeakMap<DistinguishedNameParts, Buffer>();

/**
 * Encodes a name in Go's order: the values of one attribute form one relative name, and CommonName and SerialNumber come last. Uses
 * PrintableString when the text allows it, otherwise UTF8String. The result is shared: do not change it.
 */
export function encodeDistinguishedName(parts: DistinguishedNameParts): Buffer {
  const known = encodedNames.get(parts);
  if (known !== undefined) return known;
  const encoded = encodeInOrder(parts);
  encodedNames.set(parts, encoded);
  return encoded;
}

function encodeInOrder(parts: DistinguishedNameParts): Buffer {
  const relativeNames: Buffer[] = [];
  const add = (type: string, values: readonly string[]): void => {
    if (values.length > 0) relativeNames.push(encodeSetOf(values.map((value) => encodeAttribute(type, value))));
  };
  for (const [name, type] of listAttributes) add(type, parts[name] ?? []);
  if (parts.commonName) add(attributeTypes.commonName, [parts.commonName]);
  if (parts.serialNumber) add(attributeTypes.serialNumber, [parts.serialNumber]);
  return encodeSequence(...relativeNames);
}

function encodeAttribute(type: string, value: string): Buffer {
  const tag = printable.test(value) ? tags.printableString : tags.utf8String;
  return encodeSequence(encodeObjectIdentifier(type), encodeElement(tag, Buffer.from(value, "utf8")));
}

/** The string form of RFC 4514: last relative name first, special characters escaped. */
export function formatDistinguishedName({ relativeNames }: Pick<DistinguishedName, "relativeNames">): string {
  return relativeNames
    .map((attributes) =>
      attributes.map(({ type, value }) => `${shortNames.get(type) ?? type}=${escapeValue(value)}`).join("+"),
    )
    .toReversed()
    .join(",");
}

const escapeValue = (value: string): string =>
  value
    .replace(/[,+"\\<>;=]/g, "\\$&")
    .replace(/^[ #]| $/g, "\\$&")
    .replace(/\p{Cc}/gu, (control) => `\\${control.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Whether a text is a possible result of `formatDistinguishedName`. False for other spellings of the same name. */
export function isFormattedDistinguishedName(text: string): boolean {
  const relativeNames = piecesOf(text, /(?:\\.|[^\\,])+/gs).map((relativeName) =>
    piecesOf(relativeName, /(?:\\.|[^\\+])+/gs).map((attribute) => {
      const [, shown = "", value = ""] = /^([^=]*)=(.*)$/s.exec(attribute) ?? [];
      return { type: typeOfShortName.get(shown) ?? shown, value: unescapeValue(value) };
    }),
  );
  const isTyped = relativeNames.flat().every(({ type }) => /^\d+(?:\.\d+)+$/.test(type));
  return isTyped && formatDistinguishedName({ relativeNames: relativeNames.toReversed() }) === text;
}

const piecesOf = (text: string, piece: RegExp): readonly string[] => text.match(piece) ?? [];

const unescapeValue = (value: string): string =>
  value.replace(/\\([0-9a-f]{2}|.)/gs, (_, escaped: string) =>
    escaped.length === 1 ? escaped : String.fromCharCode(Number.parseInt(escaped, 16)),
  );
