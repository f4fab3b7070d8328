import { computedOnce } from "../../../machinery/api/computed-once.ts";
import { jsonFields } from "../../../machinery/api/json/json-object.ts";
import { andThen } from "../../../machinery/api/maybe-promise.ts";
import { parseJson } from "../../../machinery/schema/parse-json.ts";
import type { TokenSigningKey } from "./token-key.ts";
import type { TokenSigner, VerificationKeys } from "../keys/token-keys.ts";

/** A longer text cannot be a token of this server: it is refused without decoding. */
const maximumTokenCharacters = 64 * 1024;
/** All tokens of a key have the same header: cache a few decoded ones. */
const maximumKnownHeaders = 64;

/** A JWT in compact form with well-formed parts. Nothing in it is trusted yet. */
export interface ParsedToken {
  readonly header: TokenHeader;
  readonly payload: unknown;
  readonly signature: Buffer;
  /** The signed part: header and payload as sent. */
  readonly signedPart: string;
}

interface TokenHeader {
  readonly algorithm: string;
  readonly kid: string | undefined;
}

/** Signs claims with a key, as a compact JWS (RFC 7515 section 7.1). */
export const tokenSigner = computedOnce((key: TokenSigningKey): TokenSigner => {
  const header = Buffer.from(JSON.stringify({ alg: key.algorithm, kid: key.kid })).toString("base64url");
  return {
    signToken(payload) {
      const signedPart = `${header}.${encodePayload(payload)}`;
      return andThen(
        key.sign(Buffer.from(signedPart)),
        (signature) => `${signedPart}.${signature.toString("base64url")}`,
      );
    },
  };
});

/** The second part of a token. */
export const encodePayload = (payload: object): string => Buffer.from(JSON.stringify(payload)).toString("base64url");

const knownHeaders = new Map<string, TokenHeader>();

/**
 * Parses a compact JWS. Undefined when it is not canonical base64url, or its header has no `alg`. Undefined for a header with `crit`,
 * because no extension is supported and an empty list is malformed (RFC 7515 section 4.1.11). Undefined also for an object with a repeated
 * name, because readers disagree on which of its values counts (RFC 7519 section 4).
 */
export function parseToken(token: string): ParsedToken | undefined {
  if (token.length > maximumTokenCharacters) return undefined;
  const firstDot = token.indexOf(".");
  const secondDot = token.indexOf(".", firstDot + 1);
  // A further dot makes the signature invalid base64url.
  if (secondDot < 0) return undefined;

  const header = headerOf(token.slice(0, firstDot));
  const payload = jsonOf(token.slice(firstDot + 1, secondDot));
  const signature = decodeBase64url(token.slice(secondDot + 1));
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return { header, payload, signature, signedPart: token.slice(0, secondDot) };
}

/**
 * Why none of these keys has signed a token, or undefined when one has. A token that names no key may be of any key. The key determines the
 * algorithm; the token never does. The words are upstream's and go-jose's, because clients compare them.
 */
export function signatureFault(token: ParsedToken, { all, byId }: VerificationKeys): string | undefined {
  const { algorithm, kid = "" } = token.header;
  const candidates = kid === "" ? all : (byId.get(kid) ?? []);
  if (candidates.length === 0) return "invalid signature, no keys found";
  const data = Buffer.from(token.signedPart);
  const isSigned = candidates.some((key) => key.algorithm === algorithm && key.verifies(data, token.signature));
  return isSigned ? undefined : "go-jose/go-jose: error in cryptographic primitive";
}

function headerOf(part: string): TokenHeader | undefined {
  const known = knownHeaders.get(part);
  if (known !== undefined) return known;
  const { alg, kid, crit } = jsonFields(jsonOf(part));
  if (typeof alg !== "string" || crit !== undefined || (kid !== undefined && typeof kid !== "string")) return undefined;
  const header = { algorithm: alg, kid };
  if (knownHeaders.size >= maximumKnownHeaders) knownHeaders.clear();
  knownHeaders.set(part, header);
  return header;
}

function jsonOf(part: string): unknown {
  const bytes = decodeBase64url(part);
  if (bytes === undefined) return undefined;
  try {
    // As bodies are parsed: readers would see a name with half of a surrogate pair as another name.
    const { value, duplicateFields } = parseJson(bytes.toString("utf8"));
    return duplicateFields.length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

const alphabet = /^[A-Za-z0-9_-]*$/;

/**
 * Decodes base64url without padding (RFC 7515 section 2), in its one canonical spelling: white space, padding, other
 * characters and stray bits in the last character give undefined. Two spellings of one token would be two identities to
 * a program with a list of revoked tokens.
 */
function decodeBase64url(text: string): Buffer | undefined {
  if (text.length % 4 === 1 || !alphabet.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  const tail = bytes.subarray(bytes.length - (bytes.length % 3));
  return text.endsWith(tail.toString("base64url")) ? bytes : undefined;
}
