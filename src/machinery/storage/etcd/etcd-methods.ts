/** The calls of etcd's API that the store makes, by the paths of their services in etcd's `rpc.proto`. */
export const etcdMethods = {
  range: "/etcdserverpb.KV/Range",
  put: "/etcdserverpb.KV/Put",
  transaction: "/etcdserverpb.KV/Txn",
  compaction: "/etcdserverpb.KV/Compact",
  watch: "/etcdserverpb.Watch/Watch",
  /** The only call that a member answers without its cluster. */
  status: "/etcdserverpb.Maintenance/Status",
} as const;
