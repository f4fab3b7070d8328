import { generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { CompactSign } from "jose";
import type { JWTPayload } from "jose";
import type { FetchDocument } from "../../../src/features/federation/oidc/fetch-document.ts";
import type { openIssuers } from "../../../src/features/federation/oidc/open-issuers.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { FollowedFiles } from "../../../src/machinery/files/followed/followed-files.ts";

/** An issuer in memory, that tests make fail, rotate and come back. */
export class TestIssuer {
  readonly url: string;
  readonly keysUrl: string;
  fetches = 0;
  isAway = false;
  /** How long its documents may be cached. Undefined: it does not say. */
  maximumAgeMilliseconds: number | undefined;
  document: unknown;
  /** What it answers in place of its keys. */
  keySet: unknown;
  #keysHeld: Promise<void> | undefined;
  #keys: { readonly kid: string; readonly privateKey: KeyObject; readonly jwk: object }[] = [];

  constructor(url: string) {
    this.url = url;
    this.keysUrl = `${url}/keys`;
    this.document = { issuer: url, jwks_uri: this.keysUrl };
    this.rotate("first");
  }

  /** Forgets the old key and signs with a new one. */
  rotate(kid: string): void {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#keys = [{ kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" } }];
  }

  /** Publishes an empty key set from now on. */
  withdrawAll(): void {
    this.#keys = [];
  }

  /** Delays answers with keys until the returned function is called. */
  holdKeys(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#keysHeld = promise;
    return resolve;
  }

  readonly fetch: FetchDocument = async (url) => {
    this.fetches++;
    if (this.isAway) throw new Error(`${url}: connect ECONNREFUSED`);
    const keys = this.#keys.map(({ jwk }) => jwk);
    const areKeys = URL.parse(url)?.pathname === "/keys"; // also without TLS, as any network could answer
    const value = areKeys ? (this.keySet ?? { keys }) : this.document;
    if (areKeys) await this.#keysHeld;
    return { value, maximumAgeMilliseconds: this.maximumAgeMilliseconds };
  };

  /** Signs claims; `iss`, `aud` and `exp` have values that are good until ten minutes after `now`. */
  sign(claims: JWTPayload, now: number): Promise<string> {
    const seconds = Math.floor(now / 1000);
    return this.signText(JSON.stringify({ iss: this.url, aud: "signet", exp: seconds + 600, sub: "ada", ...claims }));
  }

  signText(payload: string): Promise<string> {
    const [key] = this.#keys;
    if (key === undefined) throw new Error("the issuer has no key");
    return new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: "ES256", kid: key.kid })
      .sign(key.privateKey);
  }
}

type IssuersOptions = Parameters<typeof openIssuers>[1];

/** The options of a server that issues no tokens itself, and answers anonymous users. */
export const issuersOptions = (
  given: Pick<IssuersOptions, "clock" | "log" | "apiAudiences"> & Partial<IssuersOptions>,
): IssuersOptions => ({
  names: platformNames,
  followed: new FollowedFiles({ log: given.log }),
  ownIssuers: [],
  isAnonymousWanted: true,
  ...given,
});

/** A log that keeps its lines. */
export function keptLog(): {
  readonly lines: string[];
  readonly info: (fields: unknown, text?: string) => void;
  readonly warn: (fields: unknown, text?: string) => void;
  readonly error: (fields: unknown, text?: string) => void;
} {
  const lines: string[] = [];
  const keep = (fields: unknown, text = ""): unknown => lines.push(`${text} ${JSON.stringify(fields)}`);
  return { lines, info: keep, warn: keep, error: keep };
}
