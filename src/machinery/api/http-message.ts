import type { X509Certificate } from "node:crypto";

/** Header names in lower case. A repeated header is an array, in order of arrival. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What is known of the connection that a request came by. */
export interface Connection {
  readonly remoteAddress: string;
  /**
   * The certificates that the client presented, leaf first; empty when it presented none. They are NOT verified: TLS
   * accepts any, so that one listener serves several CAs; the authenticators check the chain.
   */
  readonly peerCertificates: readonly X509Certificate[];
}

/**
 * One HTTP request, the same for HTTP/2, HTTP/1.1 and in-process callers.
 */
export interface HttpRequest {
  readonly method: string;
  /** The path as it was sent, percent-escapes kept, without the query. */
  readonly path: string;
  /** The query as it was sent, without `?`; "" when there is none. */
  readonly query: string;
  readonly headers: Headers;
  readonly connection: Connection;
  /**
   * Reads the whole body, once. Rejects with an ApiError: 413 over the size bound, 400 when it breaks off.
   */
  readBody(): Promise<Buffer>;
  /** Aborted when the client is gone, the deadline has passed or the server ends. */
  readonly signal: AbortSignal;
}

/** A whole body, or one that is written over time (a watch). */
type ResponseBody = Buffer | string | StreamBody;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. The listener adds content-length. */
  readonly headers: Record<string, string | string[]>;
  readonly body: ResponseBody;
  /** What the audit log says of it besides the status. */
  readonly audited?: AuditedAnswer;
}

interface AuditedAnswer {
  /** Of a failure. */
  readonly reason?: string;
  /** The object that was written. */
  readonly object?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
}

/** A body that is written over time. */
export interface StreamBody {
  /** Called once. What it returns is called once, when the reader is gone or `sink.end` was called. */
  start(sink: ByteSink): () => void;
}

export interface ByteSink {
  /** Writes bytes that the caller promises never to change (they are shared between readers). */
  write(bytes: Uint8Array): void;
  /** Bytes that are accepted and not yet taken by the reader: a source ends a reader that lets them grow. */
  bufferedBytes(): number;
  end(): void;
}

/** Answers a request. Never rejects: failures are answers. */
export type Handler = (request: HttpRequest) => Promise<HttpResponse>;
