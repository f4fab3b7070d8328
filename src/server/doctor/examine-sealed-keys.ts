import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { SealingKey } from "../../machinery/keys/sealing-key.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { readKeyHolders, sealedKeys } from "../store/sealed-keys.ts";
import { bad, good } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Whether the data directory's sealing key opens the private keys in the store. If not, the server does not start. */
export async function examineSealedKeys(store: Store, dataDirectory: string): Promise<Finding[]> {
  const keys = sealedKeys(await readKeyHolders(store));
  if (keys.length === 0) return [];
  try {
    const sealingKey = SealingKey.open(dataDirectory, { makesKey: false });
    for (const { name, sealed } of keys) sealingKey.unseal(sealed, name);
    return [good("sealed keys", `sealing.key opens the private keys in the store (${keys.length})`)];
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    return [
      bad("sealed keys", {
        found: `the private keys in the store (${keys.length}) can't be used: ${error.message}`,
        advice: "docs/keys.md says what is lost then",
      }),
    ];
  }
}
