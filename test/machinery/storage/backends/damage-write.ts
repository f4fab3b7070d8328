import assert from "node:assert/strict";
import { getLastVersion } from "lmdb";
import { closeEnvironment, openEnvironment } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import { encodeRevision } from "../../../../src/machinery/storage/backends/lmdb-records.ts";

/** Takes the newest write of a key out of the file of an LMDB store, or changes one bit of its value. */
export async function damageWrite(
  directory: string,
  { key, how }: { readonly key: string; readonly how: "lost" | "changed" },
): Promise<void> {
  const environment = openEnvironment({ directory, profile: "platform" });
  environment.root.resetReadTxn();
  assert.ok(environment.heads.getBinaryFast(Buffer.from(key)), `${key} is there`);
  const revision = encodeRevision(getLastVersion());
  const record = environment.log.get(revision) ?? assert.fail("its write is in the log");
  if (how === "lost") {
    await environment.log.remove(revision);
  } else {
    const changed = Buffer.from(record);
    const place = changed.length - 10;
    changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
    await environment.log.put(revision, changed);
  }
  environment.root.resetReadTxn();
  await closeEnvironment(environment);
}
