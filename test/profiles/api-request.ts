import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown;
}

/** A whole answer. */
export class ApiAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;

  constructor({ statusCode = 0, headers }: IncomingMessage, bytes: Buffer) {
    this.status = statusCode;
    this.headers = headers;
    this.bytes = bytes;
  }

  /** The parsed body. */
  json() {
    return JSON.parse(this.bytes.toString());
  }
}

/** Speaks plain HTTPS to a server, as its administrator: tests see what is really sent. */
export class ApiRequester {
  readonly server: TestServer;
  readonly #agent: Agent;

  constructor(server: TestServer) {
    this.server = server;
    this.#agent = new Agent({ keepAlive: true, ca: server.caCertificates });
  }

  /** Starts a server for these requests. `stop` ends both. */
  static async toNewServer(options: Parameters<typeof startTestServer>[0] = {}): Promise<ApiRequester> {
    return new ApiRequester(await startTestServer(options));
  }

  async send(sent: ApiRequest): Promise<ApiAnswer> {
    const response = await this.open(sent);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer); // without an encoding, chunks are buffers
    return new ApiAnswer(response, Buffer.concat(chunks));
  }

  /** The answer while it still comes: for watches. */
  open({ method = "GET", path, headers = {}, body }: ApiRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? "" : JSON.stringify(body));
    const sent = request(
      new URL(this.server.url + path), // a path may begin with two slashes
      {
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${this.server.adminToken}`,
          // Node.js frames the body of a DELETE only when it is told its length.
          ...(bytes.length > 0 && { "content-type": "application/json", "content-length": String(bytes.length) }),
          ...headers,
        },
      },
      resolve,
    );
    sent.on("error", reject).end(bytes);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }

  async stop(): Promise<void> {
    this.close();
    await this.server.stop();
  }
}
