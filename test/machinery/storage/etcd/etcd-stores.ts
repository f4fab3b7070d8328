import { after, before } from "node:test";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { startEtcd } from "./etcd-process.ts";
import type { EtcdCluster } from "./etcd-process.ts";

/** Starts an etcd for the tests of a suite. Returns what makes stores on it, which end with it. */
export function etcdStores(): (prefix: string, profile?: string) => EtcdStore {
  let etcd: EtcdCluster;
  const opened: EtcdStore[] = [];
  before(async () => (etcd = await startEtcd()));
  after(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await etcd.stop();
  });
  return (prefix, profile = "platform") => {
    const store = new EtcdStore({ servers: etcd.urls, prefix, profile, callMilliseconds: 60_000 });
    opened.push(store);
    return store;
  };
}
