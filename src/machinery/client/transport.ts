/** One request of the client. `path` begins with `/` and carries its percent-escapes; `query` is without `?`. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Aborting ends the request, and the body of an answer that is still being read. */
  readonly signal?: AbortSignal;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's bytes as they arrive; read once. Ends early without an error when the server ends the stream. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** How requests reach the server: over HTTPS, or by a call in the same process. */
export interface Transport {
  /** Rejects when no answer was received; an answer of any status resolves. */
  send(request: ClientRequest): Promise<ClientResponse>;
  /** Ends open connections. */
  close(): void;
}

/** Reads a whole body as text. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
