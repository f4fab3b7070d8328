import http2 from "node:http2";

export interface CallOptions {
  readonly body?: unknown;
  readonly token?: string;
  readonly accept?: string | undefined;
}

/** One HTTP/2 connection for set-up, lists and watches. */
export class Http2Caller {
  readonly #session: http2.ClientHttp2Session;
  readonly #token: string;

  constructor(url: string, { ca, token }: { readonly ca: Buffer | undefined; readonly token: string }) {
    this.#session = http2.connect(url, ca === undefined ? { rejectUnauthorized: false } : { ca });
    this.#session.on("error", (error) => console.error("connection:", error.message));
    this.#token = token;
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<{ status: number; text: string }> {
    const stream = this.#open(method, path, options);
    return new Promise((resolve, reject) => {
      let status = 0;
      const chunks: Buffer[] = [];
      stream.on("response", (headers) => (status = headers[":status"] ?? 0));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => resolve({ status, text: Buffer.concat(chunks).toString() }));
      stream.on("error", reject);
      // A connection that ends takes its streams with it, without an error of theirs.
      stream.on("close", () => reject(new Error(`${method} ${path}: the stream ended without an answer`)));
    });
  }

  /** Opens a stream that the caller reads. */
  open(path: string, options: Pick<CallOptions, "accept"> = {}): http2.ClientHttp2Stream {
    return this.#open("GET", path, options).on("error", () => {});
  }

  /** Opens a watch; `onLine` gets each event's line. */
  watch(path: string, onLine: (line: string) => void): http2.ClientHttp2Stream {
    const stream = this.open(path);
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
    });
    return stream;
  }

  close(): void {
    this.#session.destroy();
  }

  #open(method: string, path: string, { body, token, accept }: CallOptions): http2.ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": method,
      ":path": path,
      authorization: `Bearer ${token ?? this.#token}`,
      accept: accept ?? "application/json",
      ...(body !== undefined && {
        "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      }),
    });
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    return stream;
  }
}
