import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { createServiceAccountTokenVerifier } from "../../../../src/features/accounts/tokens/service-account-tokens.ts";
import type { ServiceAccountTokenOptions } from "../../../../src/features/accounts/tokens/service-account-tokens.ts";
import type { TokenCheck, VerifyTokenInMemory } from "../../../../src/machinery/authentication/token-authentication.ts";
import { addressPath } from "../../../../src/machinery/scheduling/share-path.ts";
import { createTokenIssuer } from "../../../../src/features/accounts/tokens/token-issuer.ts";
import type { IssueToken } from "../../../../src/features/accounts/tokens/token-issuer.ts";
import { verificationKeys } from "../../../../src/features/accounts/keys/token-keys.ts";
import type { TokenKeys } from "../../../../src/features/accounts/keys/token-keys.ts";
import { tokenSigner } from "../../../../src/features/accounts/tokens/json-web-token.ts";
import {
  generateTokenSigningKeyPem,
  parseTokenSigningKey,
} from "../../../../src/features/accounts/tokens/token-key.ts";
import type { TokenSigningKey, VerificationKey } from "../../../../src/features/accounts/tokens/token-key.ts";
import type {
  FoundObject,
  FoundPod,
  FoundSecret,
  FoundServiceAccount,
  TokenObjects,
} from "../../../../src/features/accounts/tokens/token-objects.ts";

export const issuer = "https://signet.test";
export const apiAudience = "https://api.test";

/** The check of a token that a client at an address presents. */
export const checkFor = (audiences: readonly string[], address = "192.0.2.1"): TokenCheck => ({
  audiences,
  asker: () => addressPath(address),
});

/** A clock that stands still until a test moves it. */
export class TestClock {
  milliseconds = Date.parse("2026-01-01T00:00:00Z");
  now(): number {
    return this.milliseconds;
  }
  passSeconds(seconds: number): void {
    this.milliseconds += seconds * 1000;
  }
}

/** The objects that tokens name, as a test defines them. Keys are `namespace/name`. */
export class TestObjects implements TokenObjects {
  readonly serviceAccounts = new Map<string, FoundServiceAccount>();
  readonly pods = new Map<string, FoundPod>();
  readonly secrets = new Map<string, FoundSecret>();
  readonly nodes = new Map<string, FoundObject>();
  findServiceAccount(namespace: string, name: string): FoundServiceAccount | undefined {
    return this.serviceAccounts.get(`${namespace}/${name}`);
  }
  findPod(namespace: string, name: string): FoundPod | undefined {
    return this.pods.get(`${namespace}/${name}`);
  }
  findSecret(namespace: string, name: string): FoundSecret | undefined {
    return this.secrets.get(`${namespace}/${name}`);
  }
  findNode(name: string): FoundObject | undefined {
    return this.nodes.get(name);
  }
}

/** Keys that never change. */
export const fixedTokenKeys = (key: TokenSigningKey, others: readonly VerificationKey[] = []): TokenKeys => {
  const verification = verificationKeys([key, ...others]);
  const signer = tokenSigner(key);
  return { verification: () => verification, signing: () => signer, signingFor: () => signer };
};

export interface Scene {
  readonly clock: TestClock;
  readonly objects: TestObjects;
  readonly pem: string;
  readonly key: TokenSigningKey;
  readonly issue: (...terms: Parameters<IssueToken>) => string;
  readonly verify: VerifyTokenInMemory;
}

/** A server with the account `ns/bob` (uid `bob-uid`), its token issuer and its verifiers. */
export function scene(
  overrides: Partial<ServiceAccountTokenOptions> = {},
  pem: string = generateTokenSigningKeyPem("ES256"),
): Scene {
  const clock = new TestClock();
  const objects = new TestObjects();
  objects.serviceAccounts.set("ns/bob", { uid: "bob-uid" });
  const key = parseTokenSigningKey(pem);
  const keys = fixedTokenKeys(key);
  const issueToken = createTokenIssuer({ keys, issuer, claimName: platformNames.tokenClaim, clock });
  const issue: Scene["issue"] = (...terms) => {
    const token = issueToken(...terms);
    if (typeof token !== "string") throw new TypeError("a key that is at hand signs at once");
    return token;
  };
  const verify = createServiceAccountTokenVerifier({
    names: platformNames,
    keys,
    issuers: [issuer],
    apiAudiences: [apiAudience],
    objects,
    clock,
    ...overrides,
  });
  return { clock, objects, pem, key, issue, verify };
}

export const bob = { namespace: "ns", serviceAccount: { name: "bob", uid: "bob-uid" } };

export const newKeyPem = {
  ES256: (): string => ecPem("P-256"),
  ES384: (): string => ecPem("P-384"),
  ES512: (): string => ecPem("P-521"),
  RS256: (): string =>
    generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }),
  EdDSA: (): string => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
};

const ecPem = (namedCurve: string): string =>
  generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" });

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The payload of a valid token for bob. A test may change it. */
export const goodClaims = (nowMilliseconds: number): Record<string, unknown> => {
  const now = Math.floor(nowMilliseconds / 1000);
  return {
    aud: [apiAudience],
    exp: now + 3600,
    iat: now,
    nbf: now,
    iss: issuer,
    jti: "11111111-2222-3333-4444-555555555555",
    sub: "system:serviceaccount:ns:bob",
    "platform.io": { namespace: "ns", serviceaccount: { name: "bob", uid: "bob-uid" } },
  };
};

/** Signs any header and payload with a P-256 key, like an attacker with the key or a careless issuer. */
export function forge(
  pem: string,
  {
    header,
    payload,
    dsaEncoding = "ieee-p1363",
  }: { header: object; payload: unknown; dsaEncoding?: "ieee-p1363" | "der" },
): string {
  return signedTexts(pem, { header: JSON.stringify(header), payload: JSON.stringify(payload), dsaEncoding });
}

/** A token whose header and payload are these texts, which need not be JSON. */
export function signedTexts(
  pem: string,
  {
    header,
    payload,
    dsaEncoding = "ieee-p1363",
  }: { header: string; payload: string; dsaEncoding?: "ieee-p1363" | "der" },
): string {
  const signedPart = [header, payload].map((text) => Buffer.from(text).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(signedPart), { key: createPrivateKey(pem), dsaEncoding });
  return `${signedPart}.${signature.toString("base64url")}`;
}

export { encode };
