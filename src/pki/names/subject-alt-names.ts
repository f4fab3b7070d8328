import { isAscii } from "node:buffer";
import { contextTag, soleSequence, tags } from "../der/der.ts";
import type { DerElement } from "../der/der.ts";
import { encodeElement, encodeSequence } from "../der/der-writer.ts";
import { formatIpAddress, parseIpAddress } from "./ip-address.ts";
import { PkiError } from "../pki-error.ts";
import { readUri } from "./uri.ts";

/** The supported subject alternative names. Other kinds are left out, so Signet never issues them. */
export interface SubjectAltNames {
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  /** The addresses as text. An IPv4-mapped IPv6 address is in its IPv4 form. */
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

export const noSubjectAltNames: SubjectAltNames = { dnsNames: [], emailAddresses: [], ipAddresses: [], uris: [] };

/** All names, one kind after the other. */
export const allSubjectAltNames = ({
  dnsNames = [],
  ipAddresses = [],
  emailAddresses = [],
  uris = [],
}: Partial<SubjectAltNames>): string[] => [...dnsNames, ...ipAddresses, ...emailAddresses, ...uris];

export const hasSubjectAltNames = (names: SubjectAltNames): boolean => allSubjectAltNames(names).length > 0;

/** The supported GeneralName choices of RFC 5280 4.2.1.6. */
export const generalNameTags = {
  email: contextTag(1, "primitive"),
  dns: contextTag(2, "primitive"),
  uri: contextTag(6, "primitive"),
  ip: contextTag(7, "primitive"),
} as const;

/** The most names. Each name is checked by several rules, so more are an attack. */
const maximumNames = 1000;

/** Reads all names of a subjectAltName extension in their encoded form, unsupported kinds included. Throws PkiError. */
export function readGeneralNames(value: Buffer): DerElement[] {
  if (value[0] !== tags.sequence) throw new PkiError("x509: invalid subject alternative names");
  const sequence = soleSequence(value, "GeneralNames");
  const names: DerElement[] = [];
  while (!sequence.isAtEnd) {
    if (names.length === maximumNames) throw new PkiError("x509: too many subject alternative names");
    names.push(sequence.readElement());
  }
  return names;
}

/** Parses the value of a subjectAltName extension. Throws PkiError. */
export function parseSubjectAltNames(value: Buffer): SubjectAltNames {
  const names: { [kind in keyof SubjectAltNames]: string[] } = {
    dnsNames: [],
    emailAddresses: [],
    ipAddresses: [],
    uris: [],
  };
  for (const { tag, content } of readGeneralNames(value)) {
    if (tag === generalNameTags.email) names.emailAddresses.push(ia5(content, "rfc822Name"));
    else if (tag === generalNameTags.dns) names.dnsNames.push(ia5(content, "dNSName"));
    else if (tag === generalNameTags.uri) names.uris.push(checkedUri(ia5(content, "uniformResourceIdentifier")));
    else if (tag === generalNameTags.ip) {
      if (content.length !== 4 && content.length !== 16) {
        throw new PkiError(`x509: cannot parse IP address of length ${content.length}`);
      }
      names.ipAddresses.push(formatIpAddress(content));
    }
  }
  return names;
}

function ia5(content: Buffer, kind: string): string {
  if (!isAscii(content)) throw new PkiError(`x509: SAN ${kind} is malformed`);
  return content.toString("latin1");
}

function checkedUri(uri: string): string {
  const answer = readUri(uri);
  if (answer.isValid) return uri;
  throw new PkiError(`x509: cannot parse URI ${JSON.stringify(uri)}: ${answer.reason}`);
}

/** Encodes the value of a subjectAltName extension. Throws PkiError for a name that cannot be encoded. */
export function encodeSubjectAltNames(names: SubjectAltNames): Buffer {
  const ascii = (tag: number, value: string): Buffer => {
    if (!/^\p{ASCII}*$/u.test(value))
      throw new PkiError(`x509: ${JSON.stringify(value)} cannot be encoded as an IA5String`);
    return encodeElement(tag, Buffer.from(value, "latin1"));
  };
  return encodeSequence(
    ...names.dnsNames.map((name) => ascii(generalNameTags.dns, name)),
    ...names.emailAddresses.map((address) => ascii(generalNameTags.email, address)),
    ...names.ipAddresses.map((address) => {
      const octets = parseIpAddress(address);
      if (octets === undefined) throw new PkiError(`x509: ${JSON.stringify(address)} is not an IP address`);
      return encodeElement(generalNameTags.ip, octets);
    }),
    ...names.uris.map((uri) => ascii(generalNameTags.uri, uri)),
  );
}
