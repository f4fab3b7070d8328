import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EtcdStore } from "../../../src/machinery/storage/backends/etcd.ts";
import { skipsEtcd, startEtcd } from "./etcd-process.ts";
import type { EtcdCluster } from "./etcd-process.ts";
import { testStore } from "./store-contract.ts";
import type { OpenedStore } from "./store-contract.ts";

const openOn = (etcd: EtcdCluster): EtcdStore =>
  new EtcdStore({
    servers: etcd.urls,
    tls: () => etcd.tls,
    prefix: "/signet",
    profile: "platform",
    callMilliseconds: 60_000,
  });

/** Only a new etcd starts its revisions from the beginning. */
async function openFresh(options: { readonly isTls: boolean }): Promise<OpenedStore> {
  const etcd = await startEtcd(options);
  const store = openOn(etcd);
  await store.open();
  const dispose = async (): Promise<void> => {
    await store.close();
    await etcd.stop();
  };
  return { store, dispose };
}

// Most of their time is etcd's: several at once.
describe("etcd", { skip: skipsEtcd, concurrency: 4 }, () => {
  testStore("etcd", () => openFresh({ isTls: false }));
  testStore("etcd (TLS)", () => openFresh({ isTls: true }));

  it("tells the size of its database", async () => {
    const { store, dispose } = await openFresh({ isTls: false });
    const bytes = await store.sizeBytes?.();
    assert.ok(bytes !== undefined && bytes > 0, String(bytes));
    await dispose();
  });
});
