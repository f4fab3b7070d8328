import { sealedTokenKeyName } from "../features/accounts/keys/key-ring.ts";
import type { KeyRing } from "../features/accounts/keys/key-ring.ts";
import { sealedAuthorityName } from "../features/certificates/authorities/authority-record.ts";
import type { AuthorityRecord } from "../features/certificates/authorities/authority-record.ts";

/** A private key in the store. */
interface SealedKey {
  /** The name under which it is sealed. */
  readonly name: string;
  readonly sealed: string;
}

/** The private keys in the store's records, which only the server's sealing key opens. */
export function sealedKeys(records: {
  readonly ring: KeyRing | undefined;
  readonly authorities: AuthorityRecord | undefined;
}): readonly SealedKey[] {
  const tokenKeys = records.ring?.keys ?? [];
  const authorities = Object.values(records.authorities?.authorities ?? {});
  return [
    ...tokenKeys.flatMap(({ kid, privateKey }) =>
      "sealed" in privateKey ? [{ name: sealedTokenKeyName(kid), sealed: privateKey.sealed }] : [],
    ),
    ...authorities.flatMap(({ generations }) =>
      generations.map(({ fingerprint, sealedKey }) => ({ name: sealedAuthorityName(fingerprint), sealed: sealedKey })),
    ),
  ];
}
