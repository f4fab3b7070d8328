import type { GrpcError } from "../../grpc/grpc-error.ts";
import { grpcStatus } from "../../grpc/grpc-error.ts";
import { etcdMethods } from "./etcd-methods.ts";

/**
 * What etcd's errors mean (etcd's `rpctypes/error.go`). The messages are part of etcd's API: the status codes alone do
 * not distinguish enough cases.
 */

/** The member refused the call before the cluster did anything, and may take it in the next moment. */
const isNotTaken = ({ message }: GrpcError): boolean =>
  message === "etcdserver: too many requests" ||
  message === "raft proposal dropped" ||
  // Somebody has changed users or roles meanwhile.
  message === "etcdserver: revision of auth store is old";

/** The member was removed from its cluster, or ends. What it was told before may have reached the others. */
const isStopped = ({ message }: GrpcError): boolean => message === "raft: stopped";

/** A retry, or another member, may succeed. */
export const isTransient = (error: GrpcError): boolean =>
  error.code === grpcStatus.unavailable ||
  error.code === grpcStatus.deadlineExceeded ||
  isNotTaken(error) ||
  isStopped(error);

/** No answer came in time. */
export const isTooLate = ({ code }: GrpcError): boolean => code === grpcStatus.deadlineExceeded;

/** The call has done nothing. */
export const hadNoEffect = (error: GrpcError): boolean =>
  error.message === "etcdserver: no leader" || isNotTaken(error);

/** The member still works after this error, so the connection to it stays open. */
export const keepsConnection = (error: GrpcError): boolean =>
  error.message === "etcdserver: leader changed" || isNotTaken(error);

export const isCompacted = ({ message }: GrpcError): boolean =>
  message === "etcdserver: mvcc: required revision has been compacted";

export const isInFuture = ({ message }: GrpcError): boolean =>
  message === "etcdserver: mvcc: required revision is a future revision";

/** The request exceeds etcd's `--max-request-bytes`, as reported by etcd or by its gRPC server. */
export const isTooLarge = ({ code, message }: GrpcError): boolean =>
  message === "etcdserver: request is too large" ||
  (code === grpcStatus.resourceExhausted && message.includes("message larger than max"));

const outOfSpace = "etcdserver: mvcc: database space exceeded";
const denied = "etcdserver: permission denied";

/** The quota of etcd is used up. It also says so of a write that it has made, where another one has just used up the rest. */
export const isOutOfSpace = ({ message }: GrpcError): boolean => message === outOfSpace;

/** What an operator does about the alarms of a cluster, by their names. With each of them, etcd takes no writes. */
export const alarmAdvice = {
  NOSPACE:
    "delete what is not needed, compact and defragment etcd, or raise --quota-backend-bytes, then: etcdctl alarm disarm",
  CORRUPT: "find the damaged member (etcdctl endpoint hashkv --cluster), replace it, then: etcdctl alarm disarm",
};

/** What an operator does about a refusal. */
const explanations: ReadonlyMap<string, string> = new Map([
  [outOfSpace, `etcd's space quota is used up: ${alarmAdvice.NOSPACE}`],
  [
    "etcdserver: corrupt cluster",
    `etcd takes no writes, because its members have different data (alarm CORRUPT): ${alarmAdvice.CORRUPT}`,
  ],
  [
    "etcdserver: user name is empty",
    "etcd asks for a user (etcdctl auth enable): give --etcd-certfile a certificate whose common name is a user of etcd",
  ],
  [
    denied,
    "etcd has no user with the common name of --etcd-certfile, or does not let that user read and write below --etcd-prefix: etcdctl user " +
      "get NAME, then etcdctl user add, or etcdctl role grant-permission",
  ],
  [
    // Since 3.5.35, 3.6.16 or somewhat before.
    `${etcdMethods.compaction}: ${denied}`,
    "etcd lets only users with the role root forget old revisions, and without that it grows until its space quota is used up: etcdctl " +
      "user grant-role NAME root, for the user whom --etcd-certfile names; or set etcd's --auto-compaction-retention, and " +
      "--etcd-compaction-interval 0 here",
  ],
]);

/** etcd's message to a call of this path, or what it means where that is not clear. */
export const explained = ({ message }: GrpcError, path: string): string =>
  explanations.get(`${path}: ${message}`) ?? explanations.get(message) ?? message;

/** The answer to a write whose guard is refused, when the fence key does not exist either: see `encodeSwaps`. */
export const isWithoutFence = ({ message }: GrpcError): boolean => message === "etcdserver: key not found";

/** kine's answer to a transaction of several keys, and that of an etcd with a low `--max-txn-ops`. */
export const isUnsupportedTransaction = ({ message }: GrpcError): boolean =>
  message === "etcdserver: unsupported operations in txn request" ||
  message === "etcdserver: too many operations in txn request";

/**
 * Whether the answer to a progress request always comes after all events that it covers. Before 3.4.25 and 3.5.8 it
 * could come too early (etcd's changelog: "Fix requested watch progress notification to be synchronised with stream").
 */
export function hasOrderedProgress(serverVersion: string): boolean {
  const [major = 0, minor = 0, patch = 0] = serverVersion.split(".").map((part) => Number.parseInt(part, 10));
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 25;
  if (minor === 5) return patch >= 8;
  return minor > 5;
}
