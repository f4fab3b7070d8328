import type { IssuedCertificate } from "./issued-certificates.ts";
import { signerNames } from "../signer-names.ts";
import { issuedCertificateResource } from "../resources.ts";
import { CommandFailure } from "../../../machinery/command-line/command-failure.ts";
import { resourcePrefix } from "../../../machinery/registry/storage-key.ts";
import { prefixEnd } from "../../../machinery/storage/store.ts";
import type { KeyStore } from "../../../machinery/keys/key-records.ts";

const pageLength = 500;

/**
 * How many certificates on record have not expired, by the distinguished name of their CA. Serving certificates of the API
 * server do not count: they are replaced as soon as another CA signs.
 */
export async function countValidCertificates(
  { store, names }: Pick<KeyStore, "store" | "names">,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const prefix = resourcePrefix(issuedCertificateResource(names));
  for (let start = prefix; ;) {
    const { entries, hasMore } = await store.range({ start, end: prefixEnd(prefix), limit: pageLength });
    for (const { value } of entries) {
      const { signerName, issuer = "", notAfter } = parseRecord(value).spec;
      if (signerName === signerNames.apiserverServing(names)) continue;
      if (Date.parse(notAfter) > now) counts.set(issuer, (counts.get(issuer) ?? 0) + 1);
    }
    const last = entries.at(-1);
    if (!hasMore || last === undefined) return counts;
    start = `${last.key}\0`;
  }
}

function parseRecord(value: Buffer): IssuedCertificate {
  try {
    return JSON.parse(value.toString("utf8")) as IssuedCertificate; // the registry validated it
  } catch (cause) {
    const message =
      "the records of issued certificates can't be read here: use --force when you know that none is in use";
    throw new CommandFailure(message, { exit: "refused", cause });
  }
}
