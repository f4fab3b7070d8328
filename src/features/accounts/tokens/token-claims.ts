import { isJsonObject, memberOf } from "../../../machinery/api/json/json-object.ts";

/** The claims of a service account token (RFC 7519 section 4.1, and upstream's private claim). Times are in seconds. */
export interface TokenClaims {
  readonly issuer: string;
  readonly subject: string;
  /** Empty when the token names none: then it is for the API audiences. */
  readonly audiences: readonly string[];
  readonly issuedAtSeconds?: number;
  readonly notBeforeSeconds?: number;
  readonly expirationSeconds?: number;
  readonly tokenId?: string;
  readonly namespace: string;
  readonly serviceAccount: ObjectClaim;
  readonly pod?: ObjectClaim;
  readonly secret?: ObjectClaim;
  readonly node?: ObjectClaim;
  /** Using a token with an extended lifetime after this time causes a warning. */
  readonly warnAfterSeconds?: number;
}

/** An object that a token names. A node that was registered after the Pod may have no uid. */
export interface ObjectClaim {
  readonly name: string;
  readonly uid?: string;
}

/** Claims as in the payload. `claimName` is the profile's private claim. */
export function encodeClaims(claims: TokenClaims, claimName: string): object {
  return {
    ...(claims.audiences.length > 0 && { aud: claims.audiences }),
    exp: claims.expirationSeconds,
    iat: claims.issuedAtSeconds,
    iss: claims.issuer,
    jti: claims.tokenId,
    [claimName]: {
      namespace: claims.namespace,
      node: claims.node,
      pod: claims.pod,
      secret: claims.secret,
      serviceaccount: claims.serviceAccount,
      warnafter: claims.warnAfterSeconds,
    },
    nbf: claims.notBeforeSeconds,
    sub: claims.subject,
  };
}

/** Parses a payload. Undefined when a claim has the wrong type, or the private claim does not name an account. */
export function decodeClaims(payload: unknown, claimName: string): TokenClaims | undefined {
  if (!isJsonObject(payload)) return undefined;
  const own = memberOf(payload, claimName);
  if (!isJsonObject(own)) return undefined;
  try {
    return {
      issuer: text(payload, "iss") ?? "",
      subject: text(payload, "sub") ?? "",
      audiences: audiencesOf(memberOf(payload, "aud")),
      ...optional("issuedAtSeconds", seconds(payload, "iat")),
      ...optional("notBeforeSeconds", seconds(payload, "nbf")),
      ...optional("expirationSeconds", seconds(payload, "exp")),
      ...optional("tokenId", text(payload, "jti")),
      namespace: required(text(own, "namespace")),
      serviceAccount: required(reference(own, "serviceaccount")),
      ...optional("pod", reference(own, "pod")),
      ...optional("secret", reference(own, "secret")),
      ...optional("node", reference(own, "node")),
      ...optional("warnAfterSeconds", seconds(own, "warnafter")),
    };
  } catch (error) {
    if (error instanceof MalformedClaim) return undefined;
    throw error;
  }
}

class MalformedClaim extends Error {}

const optional = <K extends string, T>(name: K, value: T | undefined): { [P in K]?: T } =>
  value === undefined ? {} : ({ [name]: value } as { [P in K]?: T }); // a computed key widens to string

function required<T>(value: T | undefined): T {
  if (value === undefined || value === "") throw new MalformedClaim();
  return value;
}

function text(record: Record<string, unknown>, name: string): string | undefined {
  const value = memberOf(record, name);
  if (value === undefined || typeof value === "string") return value;
  throw new MalformedClaim();
}

/** A NumericDate in whole seconds: fractions are cut off. Undefined when absent. Throws MalformedClaim for anything but a finite number. */
function seconds(record: Record<string, unknown>, name: string): number | undefined {
  const value = memberOf(record, name);
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) throw new MalformedClaim();
  return Math.trunc(value);
}

function reference(record: Record<string, unknown>, name: string): ObjectClaim | undefined {
  const value = memberOf(record, name);
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw new MalformedClaim();
  return { name: required(text(value, "name")), ...optional("uid", text(value, "uid")) };
}

function audiencesOf(value: unknown): string[] {
  if (value === undefined) return [];
  const list = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list) || !list.every((one) => typeof one === "string")) throw new MalformedClaim();
  return list;
}
