import type { X509Certificate } from "node:crypto";
import type { TransactionMember } from "./transaction.ts";
import type { ApiError } from "./api-error.ts";
import type { StatusDetails } from "./status.ts";
import type { UserInfo } from "./user-info.ts";

/** Header names in lower case. A repeated header is an array, in order of arrival. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What the server knows about the connection of a request. */
export interface Connection {
  readonly remoteAddress: string;
  /**
   * The certificates that the client presented, leaf first; empty when it presented none. They are NOT verified: TLS
   * accepts any certificate, so that one listener can serve several CAs. The authenticators verify the chain.
   */
  readonly peerCertificates: readonly X509Certificate[];
  /** Called with the user of each request of the connection, unless the user is anonymous. Absent: nothing needs to know. */
  isUsedBy?(user: UserInfo): void;
}

/**
 * One HTTP request, the same for HTTP/2, HTTP/1.1 and in-process callers.
 */
export interface HttpRequest {
  readonly method: string;
  /** The path as sent, still percent-encoded, without the query. */
  readonly path: string;
  /** The query as sent, without the `?` before it. A `?` at its own start is escaped. Empty when there is none. */
  readonly query: string;
  readonly headers: Headers;
  readonly connection: Connection;
  /** Whether the client asks to switch to WebSocket, and its connection can. Absent: false. */
  readonly isWebSocket?: boolean;
  /**
   * Reads the whole body. Call it once. `maximumBytes` can lower the server's limit: no more is read then. Rejects with an ApiError:
   * 413 when the body is too large, 400 when it is cut off.
   */
  readBody(maximumBytes?: number): Promise<Buffer>;
  /** Absent: the request came over a connection. */
  readonly inProcess?: InProcessCall | undefined;
  /** Aborted when the client disconnects, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Since the request arrived, the server's copies in memory have shown every write that was acknowledged before. Set before
   * authentication, so that a read or a write need not ask the store again. Absent: not known.
   */
  hasFreshCache?: boolean;
}

/** Options that only a caller in the server's own process has. */
export interface InProcessCall {
  /** The JSON value of the body. It never changes. Undefined: the body is a text, or there is none. */
  readonly value: object | undefined;
  /** The transaction that the request's write belongs to. Undefined: the write is committed alone. */
  readonly transaction: TransactionMember | undefined;
}

/** A whole body, or one that is written over time (a watch). */
type ResponseBody = Buffer | string | StreamBody;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. The listener adds content-length. */
  readonly headers: Record<string, string | string[]>;
  readonly body: ResponseBody;
  /**
   * The JSON value of the body, for a caller in the server's own process, and for the audit log where the body is slow to read.
   * Immutable.
   */
  readonly value?: object;
  /** Details of the answer for the audit log. */
  readonly audited?: AuditedAnswer;
}

interface AuditedAnswer {
  /** Set for a failure. */
  readonly error?: ApiError;
  /** The details of a Status that says that the request succeeded. */
  readonly success?: StatusDetails;
  /** The object that was written. `resourceVersion` is the version that an update names. */
  readonly object?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
}

/** A body that is written over time. */
export interface StreamBody {
  /** Called once. The returned function is called once, when the reader disconnects or `sink.end` was called. */
  start(sink: ByteSink): () => void;
  /** Over a WebSocket each write is one message of this type. */
  readonly messageType?: "text" | "binary";
}

export interface ByteSink {
  /** Writes bytes that the caller promises never to change: several readers share them. */
  write(bytes: Uint8Array): void;
  /**
   * Bytes that are accepted but that the reader has not taken yet. The source ends a reader whose backlog grows too
   * large.
   */
  bufferedBytes(): number;
  end(): void;
  /** The reader is in this process: it takes each write at once. Absent: it is not. */
  readonly isInProcess?: boolean;
}

/** Answers a request. Never rejects: failures are answers. */
export type Handler = (request: HttpRequest) => Promise<HttpResponse>;
