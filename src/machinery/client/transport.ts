/** One request of the client. `path` starts with `/` and is percent-encoded; `query` has no `?`. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, or a JSON value that never changes from now on: a server in the same process takes it as it is. */
  readonly body?: string | object;
  /** Whether the server may get it twice. Default: a GET may. */
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
  /** The JSON value of the body, which a server in the same process hands over. Immutable. */
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

/** An answer that is not what the API answers with, such as half an answer, or a page of something that is not an API server. */
export class UnreadableAnswer extends Error {
  override readonly name = "UnreadableAnswer";
}

/** An answer that has more bytes than it may have. */
export class AnswerTooLarge extends UnreadableAnswer {
  constructor(mostBytes: number) {
    super(`the answer has more than ${Math.floor(mostBytes / 2 ** 20)} MiB`);
  }
}
