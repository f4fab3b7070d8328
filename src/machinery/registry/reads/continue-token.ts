import { badRequest } from "../../api/api-error.ts";
import { shortened } from "../../api/text/format-value.ts";
import { JsonSyntaxError } from "../../schema/json-reader.ts";
import { parseJsonBytes } from "../../schema/parse-json.ts";

/** The start of the next page of a list. */
export interface ContinuePoint {
  /** The revision of the first page. -1 means the latest revision, for the remaining pages of a list whose revision was compacted. */
  readonly revision: number;
  /** The first key of the page, without the resource's key prefix. */
  readonly start: string;
}

const tokenVersion = "meta.k8s.io/v1";

/** Encodes the point as an opaque token, in upstream's format. */
export const encodeContinueToken = ({ revision, start }: ContinuePoint): string =>
  Buffer.from(JSON.stringify({ v: tokenVersion, rv: revision, start })).toString("base64url");

/** Decodes a token. Throws a 400 for a token that this server cannot have issued. */
export function decodeContinueToken(token: string): ContinuePoint {
  const unreadable = /[^\w-]/.exec(token)?.index ?? (token.length % 4 === 1 ? token.length - 1 : undefined);
  if (unreadable !== undefined) throw invalidToken(`illegal base64 data at input byte ${unreadable}`);
  const sent = parsed(Buffer.from(token, "base64url"));
  if (typeof sent !== "object" || sent === null) throw invalidToken("not an object");
  const { v, rv, start } = sent as Readonly<Record<string, unknown>>; // an object has members
  if (v !== tokenVersion) {
    const sentVersion = typeof v === "string" ? shortened(v) : "";
    throw invalidToken(`server does not recognize this encoded version ${sentVersion}`);
  }
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv < -1 || rv === 0) {
    throw invalidToken(`incorrect encoded start resourceVersion (version ${tokenVersion})`);
  }
  if (typeof start !== "string" || start === "") {
    throw invalidToken(`encoded start key empty (version ${tokenVersion})`);
  }
  return { revision: rv, start };
}

/** The 400 for a token whose start key is outside the list. */
export const startKeyOutsideList = (): Error => invalidToken("encoded start key is not of this list");

function parsed(json: Buffer): unknown {
  try {
    return parseJsonBytes(json).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw invalidToken(error.message);
    throw error;
  }
}

const invalidToken = (fault: string): Error =>
  badRequest(`invalid continue token: continue key is not valid: ${fault}`);
