/** One request of the client. `path` starts with `/` and is percent-encoded; `query` has no `?`. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, or a JSON value, which must not change from now on: a server in the same process does not copy it. */
  readonly body?: string | object;
  /** Whether the request may be sent twice. Default: only a GET. */
  readonly isRepeatable?: boolean;
  /** Aborting it ends the request, and also an answer that is still being read. */
  readonly signal?: AbortSignal;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * The bytes of the body as they arrive; read it once. Ends without an error when the server ends the stream early.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The JSON value of the body, if the server is in the same process. Immutable. */
  readonly value?: object;
}

interface TransactionTransport extends Transport {
  end(): void;
}

/** How requests reach the server: over HTTPS, or by a function call in the same process. */
export interface Transport {
  /** Rejects only when there was no answer. An answer with any status resolves. */
  send(request: ClientRequest): Promise<ClientResponse>;
  /**
   * A transport for each request of a transaction, whose writes take effect together or not at all. Call `end` when the
   * request of a transport has ended. Absent: this transport has no transactions.
   */
  together?(count: number): readonly TransactionTransport[];
  /** Ends open connections. */
  close(): void;
}

/** The body of a request, as it is sent over a connection. */
export const bodyText = ({ body }: Pick<ClientRequest, "body">): string | undefined =>
  typeof body === "object" ? JSON.stringify(body) : body;

/** Reads a whole body as text. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** An answer that does not fit the API, such as half an answer, or a page of a server that is not an API server. */
export class UnreadableAnswer extends Error {
  override readonly name = "UnreadableAnswer";
}

/** An answer that exceeds its limit. */
export class AnswerTooLarge extends UnreadableAnswer {
  constructor(mostBytes: number) {
    super(`the answer has more than ${Math.floor(mostBytes / 2 ** 20)} MiB`);
  }
}
