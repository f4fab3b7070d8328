import { parseToken } from "../../features/accounts/index.ts";
import { secretResource } from "../../features/core/index.ts";
import type { Secret } from "../../features/core/index.ts";
import { resourcePrefix } from "../../machinery/registry/storage-key.ts";
import { prefixEnd } from "../../machinery/storage/store.ts";
import type { KeyStore } from "./open-key-store.ts";

export interface SecretsOfKey {
  /** `namespace/name`, sorted. */
  readonly found: readonly string[];
  /** How many Secrets are not plain JSON. */
  readonly unreadable: number;
}

const pageLength = 500;

/** The Secrets with a token that a key signed: these tokens have no end. */
export async function secretsWithTokensOf(
  { store, names }: Pick<KeyStore, "store" | "names">,
  kid: string,
): Promise<SecretsOfKey> {
  const found: string[] = [];
  let unreadable = 0;
  const prefix = resourcePrefix(secretResource(names));
  for (let start = prefix; ;) {
    const { entries, hasMore } = await store.range({ start, end: prefixEnd(prefix), limit: pageLength });
    for (const { key, value } of entries) {
      const token = tokenIn(value);
      if (token === "unreadable") unreadable += 1;
      else if (token !== undefined && parseToken(token)?.header.kid === kid) found.push(key.slice(prefix.length));
    }
    const last = entries.at(-1);
    if (!hasMore || last === undefined) return { found, unreadable };
    start = `${last.key}\0`;
  }
}

function tokenIn(value: Buffer): string | undefined {
  let secret: Secret;
  try {
    secret = JSON.parse(value.toString("utf8")) as Secret; // the registry validated it
  } catch {
    return "unreadable";
  }
  const token = secret.data?.["token"];
  return token === undefined ? undefined : Buffer.from(token, "base64").toString("utf8");
}
