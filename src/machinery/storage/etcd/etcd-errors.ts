import type { GrpcError } from "../../grpc/grpc-error.ts";
import { grpcStatus } from "../../grpc/grpc-error.ts";

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

/** A retry, or another member, may succeed. */
export const isTransient = (error: GrpcError): boolean =>
  error.code === grpcStatus.unavailable || error.code === grpcStatus.deadlineExceeded || isNotTaken(error);

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

/** The quota of etcd is used up. It also says so of a write that it has made, where another one has just used up the rest. */
export const isOutOfSpace = ({ message }: GrpcError): boolean => message === outOfSpace;

/** What an operator does about a refusal. */
const explanations: ReadonlyMap<string, string> = new Map([
  [
    outOfSpace,
    "etcd's space quota is used up: delete what is not needed, compact and defragment etcd, or raise --quota-backend-bytes, then: etcdctl " +
      "alarm disarm",
  ],
  [
    "etcdserver: corrupt cluster",
    "etcd takes no writes, because its members have different data (alarm CORRUPT): find the damaged one (etcdctl endpoint hashkv --cluster), " +
      "replace it, then: etcdctl alarm disarm",
  ],
  [
    "etcdserver: user name is empty",
    "etcd asks for a user (etcdctl auth enable): give --etcd-certfile a certificate whose common name is a user of etcd",
  ],
  [
    "etcdserver: permission denied",
    "etcd does not let the user whom --etcd-certfile names read and write below --etcd-prefix: etcdctl role grant-permission",
  ],
]);

/** etcd's message, or what it means where that is not clear. */
export const explained = ({ message }: GrpcError): string => explanations.get(message) ?? message;

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
