import { keyRingRecord, sealedTokenKeyName } from "../../features/accounts/keys/key-ring.ts";
import type { KeyRing } from "../../features/accounts/keys/key-ring.ts";
import { authorityRecord, sealedAuthorityName } from "../../features/certificates/authorities/authority-record.ts";
import type { AuthorityRecord } from "../../features/certificates/authorities/authority-record.ts";
import { readKeyRecord } from "../../machinery/keys/key-records.ts";
import type { Store } from "../../machinery/storage/store.ts";

/** A private key in the store. */
interface SealedKey {
  /** The name under which it is sealed. */
  readonly name: string;
  readonly sealed: string;
}

/** The records of a store that hold private keys. */
interface KeyHolders {
  readonly ring: KeyRing | undefined;
  readonly authorities: AuthorityRecord | undefined;
}

export async function readKeyHolders(store: Store): Promise<KeyHolders> {
  const { value: ring } = await readKeyRecord(store, keyRingRecord);
  const { value: authorities } = await readKeyRecord(store, authorityRecord);
  return { ring, authorities };
}

/** The private keys in the store's records. Only the server's sealing key opens them. */
export function sealedKeys(records: KeyHolders): readonly SealedKey[] {
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
