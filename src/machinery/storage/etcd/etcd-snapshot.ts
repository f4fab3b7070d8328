import { writeSync } from "node:fs";
import { link, mkdtemp, open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { EtcdClient } from "./etcd-client.ts";
import { decodeSnapshotBlob } from "./etcd-messages.ts";

/** etcd's snapshot consists of whole pages, followed by the SHA-256 of all of them. */
const PAGE_BYTES = 512;
const DIGEST_BYTES = 32;

/**
 * Writes etcd's own snapshot of all its keys to a new file (0600) that appears complete or not at all. `etcdctl
 * snapshot restore` can read it.
 */
export async function saveSnapshot(client: EtcdClient, file: string): Promise<void> {
  const directory = await mkdtemp(join(dirname(file), `.${basename(file)}-`));
  try {
    const partial = join(directory, "snapshot");
    const handle = await open(partial, "wx", 0o600);
    try {
      const byteLength = await receive(client, (blob) => void writeSync(handle.fd, blob));
      if (byteLength % PAGE_BYTES !== DIGEST_BYTES) throw new Error("etcd's snapshot ended too early");
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(partial, file); // fails when the file exists
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Passes each part to `write`. Resolves with the total length. */
async function receive(client: EtcdClient, write: (blob: Buffer) => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let byteLength = 0;
  const call = await client.stream("/etcdserverpb.Maintenance/Snapshot", {
    onMessage(message) {
      const blob = decodeSnapshotBlob(message);
      byteLength += blob.length;
      write(blob); // an exception here ends the call
    },
    onEnd: (error) => (error === undefined ? resolve(byteLength) : reject(error)),
  });
  call.send(Buffer.alloc(0));
  call.end();
  return await promise;
}
