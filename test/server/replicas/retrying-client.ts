import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { Agent, request } from "node:https";
import type { TLSSocket } from "node:tls";

/** Where one server, or one of its workers, is reached. */
export interface Address {
  readonly url: string;
  readonly caCertificates: string | Buffer;
}

export type Protocol = "HTTP/1.1" | "HTTP/2";

export interface Sent {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly token: string;
  readonly body?: string;
}

/** The server cannot have taken the request: it is safe to send it elsewhere. */
class NotTaken extends Error {}

/**
 * A client with one kept-alive connection that retries as careful clients do: only when no connection came about, or the
 * server said that it did not take the request. Everything else rejects, because the server may have acted on it.
 */
export class RetryingClient {
  readonly #addresses: () => Address;
  readonly #connect: (address: Address) => Wire;
  #wire: Wire | undefined;
  /** How often a request had to be sent again. */
  retries = 0;

  /** `address` names the server for each new connection. */
  constructor(protocol: Protocol, address: () => Address) {
    this.#addresses = address;
    this.#connect = protocol === "HTTP/2" ? http2Wire : http1Wire;
  }

  /** Resolves with the status of the answer. */
  async send(sent: Sent): Promise<number> {
    for (;;) {
      if (this.#wire === undefined || this.#wire.isClosed()) this.#wire = this.#connect(this.#addresses());
      try {
        return await this.#wire.send(sent);
      } catch (error) {
        if (!(error instanceof NotTaken)) throw error;
        this.#wire.close();
        this.#wire = undefined;
        this.retries++;
      }
    }
  }

  close(): void {
    this.#wire?.close();
  }
}

interface Wire {
  isClosed(): boolean;
  /** Rejects with NotTaken, or with an error that does not tell what the server did. */
  send(sent: Sent): Promise<number>;
  close(): void;
}

const headersOf = ({ token, body }: Sent): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  ...(body !== undefined && { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
});

function http2Wire({ url, caCertificates }: Address): Wire {
  const session: ClientHttp2Session = connectHttp2(url, { ca: caCertificates });
  let isConnected = false;
  session.on("error", () => {});
  session.on("connect", () => (isConnected = true));
  return {
    isClosed: () => session.closed || session.destroyed,
    async send(sent) {
      const stream = session.request({ ":path": sent.path, ":method": sent.method, ...headersOf(sent) });
      stream.end(sent.body);
      try {
        const [headers] = (await once(stream, "response")) as [{ readonly ":status": number }];
        stream.resume();
        await once(stream, "close");
        return headers[":status"];
      } catch (error) {
        // RFC 9113, section 8.7: the server did not take the request.
        if (!isConnected || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) throw new NotTaken();
        throw new Error(`HTTP/2: reset with ${stream.rstCode}`, { cause: error });
      }
    },
    close: () => session.close(),
  };
}

function http1Wire({ url, caCertificates }: Address): Wire {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    isClosed: () => false, // the agent makes a new connection when the server has closed the last one
    send(sent) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const asking = request(`${url}${sent.path}`, {
        agent,
        ca: caCertificates,
        method: sent.method,
        headers: headersOf(sent),
      });
      let isConnected = false;
      asking.on("socket", (socket) => {
        isConnected = asking.reusedSocket;
        if (!isConnected) (socket as TLSSocket).once("secureConnect", () => (isConnected = true));
      });
      asking.on("response", (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
        response.on("error", reject);
      });
      asking.on("error", (error) => reject(isConnected ? new Error("HTTP/1.1", { cause: error }) : new NotTaken()));
      asking.end(sent.body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
