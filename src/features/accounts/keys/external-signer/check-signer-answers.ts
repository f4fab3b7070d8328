import { createPublicKey } from "node:crypto";
import { parseJsonObject } from "../../../../machinery/api/json/json-object.ts";
import type { JsonObject } from "../../../../machinery/api/json/json-object.ts";
import { messageOf } from "../../../../machinery/api/thrown-error.ts";
import { LongWork } from "../../../../machinery/scheduling/long-work.ts";
import { parseToken } from "../../tokens/json-web-token.ts";
import { verificationKeyOf } from "../../tokens/token-key.ts";
import type { VerificationKey } from "../../tokens/token-key.ts";
import type { FetchedKey, FetchKeysAnswer, SignAnswer } from "./external-signer-messages.ts";

/** The signer's answer breaks the rules of the protocol. The message tells the operator which rule. */
export class SignerFault extends Error {}

/** The only algorithms that upstream allows. */
const signingAlgorithms: ReadonlySet<unknown> = new Set(["RS256", "ES256", "ES384", "ES512"]);
const headerMembers = new Set(["alg", "kid", "typ"]);
const maximumKeyIdBytes = 1024;
const maximumHeaderCharacters = 4096;
const maximumSignatureCharacters = 4096;
/** The most keys of a signer: all of them are parsed at each fetch. */
const maximumKeys = 1000;
/** The longest time between fetches: a key that the signer withdraws verifies tokens no longer than this. */
const longestRefreshSeconds = 3600;

interface SignerHeader {
  readonly algorithm: string;
  readonly kid: string;
}

/** Reads the header of a token that the signer made. Throws SignerFault for a header that breaks upstream's rules. */
export function readHeader({ header, signature }: SignAnswer): SignerHeader {
  if (header.length > maximumHeaderCharacters) throw new SignerFault("the header of its token is too long");
  if (signature === "") throw new SignerFault("its token has no signature");
  if (signature.length > maximumSignatureCharacters) throw new SignerFault("the signature of its token is too long");
  const members = headerOf(header);
  const unknown = Object.keys(members).filter((name) => !headerMembers.has(name));
  if (unknown.length > 0) throw new SignerFault("the header of its token has more members than alg, kid and typ");
  const { alg, kid, typ } = members;
  if (typ !== "JWT") throw new SignerFault("the header of its token has another typ than JWT");
  if (typeof kid !== "string" || kid === "") throw new SignerFault("the header of its token names no key (kid)");
  if (Buffer.byteLength(kid) > maximumKeyIdBytes) throw new SignerFault("the id of its key is longer than 1 KiB");
  if (typeof alg !== "string" || !signingAlgorithms.has(alg)) {
    throw new SignerFault(`its token is signed with ${JSON.stringify(alg)}: use RS256, ES256, ES384 or ES512`);
  }
  return { algorithm: alg, kid };
}

function headerOf(header: string): Readonly<JsonObject> {
  const parsed = parseJsonObject(Buffer.from(header, "base64url").toString("utf8"));
  if (parsed !== undefined) return parsed;
  throw new SignerFault("the header of its token is not base64url of a JSON object");
}

/** Throws SignerFault unless this server accepts a token and relying parties can verify it. */
export function checkToken(
  token: string,
  { kid, algorithm, keys }: SignerHeader & { readonly keys: readonly VerificationKey[] },
): void {
  const quotedId = JSON.stringify(kid);
  const named = keys.filter((key) => key.kid === kid);
  if (named.length === 0) throw new SignerFault(`it signs with the key ${quotedId}, which it does not publish`);
  if (named.some(({ isUnpublished }) => isUnpublished === true)) {
    throw new SignerFault(`it signs with the key ${quotedId}, which it excludes from discovery`);
  }
  const parsed = parseToken(token);
  if (parsed === undefined) throw new SignerFault("its header or signature is not base64url without padding");
  const data = Buffer.from(parsed.signedPart);
  if (!named.some((key) => key.algorithm === algorithm && key.verifies(data, parsed.signature))) {
    throw new SignerFault(`its signature is not one of the key ${quotedId} with ${algorithm}`);
  }
}

/** The keys that a signer publishes, after the checks. */
export interface SignerKeys {
  readonly keys: readonly VerificationKey[];
  readonly refreshSeconds: number;
}

/**
 * Reads the signer's keys by upstream's rules, in turns of the event loop, because there may be a thousand. Rejects with SignerFault if any
 * key breaks a rule.
 */
export async function readPublishedKeys({
  keys,
  dataTimestampSeconds,
  refreshHintSeconds,
}: FetchKeysAnswer): Promise<SignerKeys> {
  if (refreshHintSeconds <= 0)
    throw new SignerFault(`its refresh hint is ${refreshHintSeconds} s: it must be positive`);
  if (keys.length === 0) throw new SignerFault("it publishes no keys");
  if (keys.length > maximumKeys) throw new SignerFault(`it publishes ${keys.length} keys: ${maximumKeys} at most`);
  if (dataTimestampSeconds === undefined)
    throw new SignerFault("it does not say how old its keys are (data_timestamp)");
  const checked: VerificationKey[] = [];
  await new LongWork().each(keys, (key) => checked.push(publishedKey(key)));
  return {
    keys: checked,
    refreshSeconds: Math.min(refreshHintSeconds, longestRefreshSeconds),
  };
}

function publishedKey({ keyId, spki, isExcludedFromDiscovery }: FetchedKey): VerificationKey {
  const bytes = Buffer.byteLength(keyId);
  if (bytes === 0 || bytes > maximumKeyIdBytes) throw new SignerFault(`the id of a key has ${bytes} bytes: 1 to 1024`);
  try {
    const key = verificationKeyOf(createPublicKey({ key: spki, format: "der", type: "spki" }), keyId);
    return isExcludedFromDiscovery ? { ...key, isUnpublished: true } : key;
  } catch (cause) {
    throw new SignerFault(`its key ${JSON.stringify(keyId)} can't be used: ${messageOf(cause)}`, { cause });
  }
}
