import { createHmac } from "node:crypto";
import type { SeededRandom } from "../../reliability/seeded-random.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? "").toString("base64url");

function decoded(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString()) as unknown;
  } catch {
    return {};
  }
}

const headerChanges: readonly object[] = [
  { alg: "none" },
  { alg: "HS256" },
  { alg: "RS256" },
  { alg: "ES384" },
  { alg: ["ES256"] },
  { crit: [] },
  { crit: ["exp"], exp: 1 },
  { kid: "x" },
  { kid: "../../../dev/null" },
  { jku: "https://127.0.0.1:1/keys" },
  { jwk: { kty: "oct", k: "AA" } },
  { b64: false, crit: ["b64"] },
];

/** A changed JWT: its text, its parts, its header, its claims, its signature. Other texts change byte by byte. */
export function mutateToken(token: string, random: SeededRandom): string {
  const [header = "", claims = "", signature = ""] = token.split(".");
  switch (random.integer(0, 9)) {
    case 0:
      return mutateBytes(Buffer.from(token), random).toString("latin1");
    case 1:
      return `${encoded({ ...(decoded(header) as object), ...random.pick([headerChanges[0] ?? {}, ...headerChanges]) })}.${claims}.${signature}`;
    case 2:
      return `${header}.${encoded(mutateJson(decoded(claims), random))}.${signature}`;
    case 3:
      return `${header}.${claims}.`;
    case 4:
      return `${header}.${claims}.${signature}${random.pick(["=", "==", ".", " ", "\t", "A", "%0a"])}`;
    case 5: {
      const hmacHeader = encoded({ ...(decoded(header) as object), alg: "HS256" });
      return `${hmacHeader}.${claims}.${createHmac("sha256", "key").update(`${hmacHeader}.${claims}`).digest("base64url")}`;
    }
    case 6:
      return `${header}.${claims}.${Buffer.alloc(64).toString("base64url")}`;
    case 7:
      return `${header}.${encoded({ ...(decoded(claims) as object), exp: random.pick([1e300, -1, 0, 2 ** 53]) })}.${signature}`;
    case 8:
      return ".".repeat(random.pick([1, 2, 3, 5_000]));
    default:
      return `${encoded(mutateJson(decoded(header), random))}.${claims}.${signature}`;
  }
}
