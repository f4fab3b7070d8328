import { checkAnyValue } from "./any-value.ts";
import { DerReader } from "./der.ts";

/** RFC 5280 4.1.1.2. */
export interface AlgorithmIdentifier {
  readonly algorithm: string;
  /** The whole encoding of the parameters; empty when there are none. */
  readonly parameters: Buffer;
}

const none = Buffer.alloc(0);

/** Reads the content of an AlgorithmIdentifier sequence. Throws PkiError. */
export function parseAlgorithmIdentifier(content: Buffer): AlgorithmIdentifier {
  const reader = new DerReader(content);
  const algorithm = reader.readObjectIdentifier();
  if (reader.isAtEnd) return { algorithm, parameters: none };
  const parameters = reader.readElement();
  reader.expectEnd();
  checkAnyValue(parameters);
  return { algorithm, parameters: parameters.bytes };
}

/** Whether parameters are the ASN.1 NULL. */
export const isNull = (parameters: Buffer): boolean =>
  parameters.length === 2 && parameters[0] === 5 && parameters[1] === 0;
