import type { GrpcError } from "../../grpc/grpc-error.ts";
import { grpcStatus } from "../../grpc/grpc-error.ts";
import { etcdMethods } from "./etcd-methods.ts";

/**
 * What etcd's errors mean (etcd's `rpctypes/error.go`). The messages are part of etcd's API: the status codes alone do
 * not distinguish enough cases.
 */

/** Whether the member refused the call before the cluster did anything. A retry may succeed a moment later. */
const isNotTaken = ({ message }: GrpcError): boolean =>
  message === "etcdserver: too many requests" ||
  message === "raft proposal dropped" ||
  // An administrator has just changed users or roles.
  message === "etcdserver: revision of auth store is old";

/** Whether the member was removed from its cluster, or ends. The call may still have reached the other members. */
const isStopped = ({ message }: GrpcError): boolean => message === "raft: stopped";

/** Whether a retry, or another member, may succeed. */
export const isTransient = (error: GrpcError): boolean =>
  error.code === grpcStatus.unavailable ||
  error.code === grpcStatus.deadlineExceeded ||
  isNotTaken(error) ||
  isStopped(error);

/** Whether no answer came in time. */
export const isTooLate = ({ code }: GrpcError): boolean => code === grpcStatus.deadlineExceeded;

/** Whether the call has certainly changed nothing. */
export const hadNoEffect = (error: GrpcError): boolean =>
  error.message === "etcdserver: no leader" || isNotTaken(error);

/** Whether the member still works after this error, so that the connection to it stays open. */
export const keepsConnection = (error: GrpcError): boolean =>
  error.message === "etcdserver: leader changed" || isNotTaken(error);

export const isCompacted = ({ message }: GrpcError): boolean =>
  message === "etcdserver: mvcc: required revision has been compacted";

export const isInFuture = ({ message }: GrpcError): boolean =>
  message === "etcdserver: mvcc: required revision is a future revision";

/** Whether the request exceeds etcd's `--max-request-bytes`, as reported by etcd or by its gRPC server. */
export const isTooLarge = ({ code, message }: GrpcError): boolean =>
  message === "etcdserver: request is too large" ||
  (code === grpcStatus.resourceExhausted && message.includes("message larger than max"));

const outOfSpace = "etcdserver: mvcc: database space exceeded";
const denied = "etcdserver: permission denied";

/** Whether etcd's quota is used up. etcd also answers so to a write that it has made, when another write has just used up the rest. */
export const isOutOfSpace = ({ message }: GrpcError): boolean => message === outOfSpace;

/** What an operator does about each alarm of a cluster, by its name. With any of these alarms, etcd takes no writes. */
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
    // etcd requires the role root for compactions since 3.5.35 and 3.6.16, or a few patches earlier.
    `${etcdMethods.compaction}: ${denied}`,
    "etcd lets only users with the role root forget old revisions, and without that it grows until its space quota is used up: etcdctl " +
      "user grant-role NAME root, for the user whom --etcd-certfile names; or set etcd's --auto-compaction-retention, and " +
      "--etcd-compaction-interval 0 here",
  ],
]);

/** The message for an error of a call to this path: etcd's own, or an explanation where etcd's is not clear. */
export const explained = ({ message }: GrpcError, path: string): string =>
  explanations.get(`${path}: ${message}`) ?? explanations.get(message) ?? message;

/** Whether a write was refused because its guard has changed and the fence key does not exist: see `encodeGuarded`. */
export const isWithoutFence = ({ message }: GrpcError): boolean => message === "etcdserver: key not found";

/** Whether the server does not take a transaction of several keys: kine, or an etcd with a low `--max-txn-ops`. */
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
