import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { FuzzAnswer, FuzzRequest, Framing } from "../fuzz-request.ts";
import { isMalformed } from "../oracle.ts";
import { closedWithoutAnswer, NoAnswerError, patienceMilliseconds } from "./fuzz-target.ts";

interface Endpoint {
  readonly port: number;
  readonly ca: Buffer;
}

const chunkBytes = 1_000;

/**
 * An HTTP/1.1 client that writes any given octets, also invalid ones, and reads one answer at a time. The connection is
 * kept while both sides agree where a message ends.
 */
export class Http1Connection {
  readonly #endpoint: Endpoint;
  #socket: TLSSocket | undefined;
  #received: Buffer = Buffer.alloc(0);

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  async send(request: FuzzRequest): Promise<FuzzAnswer> {
    // The server may have closed it while it was idle: no event would come any more.
    if (this.#socket?.destroyed === true) this.#socket = undefined;
    const isFresh = this.#socket === undefined;
    const socket = (this.#socket ??= await this.#connect());
    const answer = await this.#exchange(socket, request);
    // The server may have closed a kept connection at the moment when the input went out.
    if (answer === closedWithoutAnswer && !isFresh) return this.send(request);
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #connect(): Promise<TLSSocket> {
    const { port, ca } = this.#endpoint;
    this.#received = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, ca, ALPNProtocols: ["http/1.1"], servername: "localhost" });
      socket.once("secureConnect", () => resolve(socket));
      socket.once("error", reject);
    });
  }

  #exchange(socket: TLSSocket, request: FuzzRequest): Promise<FuzzAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
    const patience = setTimeout(() => finish(undefined), patienceMilliseconds);
    const finish = (answer: FuzzAnswer | undefined): void => {
      clearTimeout(patience);
      socket.removeAllListeners("data").removeAllListeners("close").removeAllListeners("error");
      socket.on("error", () => {});
      const keeps = answer !== undefined && answer.status !== 0 && !answer.isStream && !isMalformed(request);
      const isLast = answer?.headers.get("connection")?.toLowerCase() === "close" || answer?.status === 400;
      if (!keeps || isLast) this.close();
      if (answer === undefined) reject(new NoAnswerError("no answer over HTTP/1.1"));
      else resolve(answer);
    };
    const read = (isClosed: boolean): void => {
      const answer = this.#takeAnswer(request.method);
      if (answer !== undefined) finish(answer);
      else if (isClosed) finish(closedWithoutAnswer);
    };
    socket.on("data", (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      read(false);
    });
    socket.on("close", () => read(true));
    socket.on("error", () => {});
    socket.write(messageOf(request));
    if (request.framing === "cut-short") socket.end();
    return promise;
  }

  /** The answer that has arrived, taken off what was received; undefined while it is not whole. */
  #takeAnswer(method: string): FuzzAnswer | undefined {
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const [statusLine = "", ...lines] = this.#received.toString("latin1", 0, headEnd).split("\r\n");
    const status = Number(statusLine.split(" ")[1]);
    const rest = this.#received.subarray(headEnd + 4);
    if (status === 100) {
      this.#received = rest;
      return this.#takeAnswer(method);
    }
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    if (headers.get("transfer-encoding") === "chunked") return { status, headers, body: rest, isStream: true };
    const length = method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0);
    if (rest.length < length) return undefined;
    this.#received = rest.subarray(length);
    return { status, headers, body: Buffer.from(rest.subarray(0, length)), isStream: false };
  }
}

/** Line feeds stay where they are: what follows them is a separate header, or malformed. */
function messageOf({ method, target, headers, body, framing }: FuzzRequest): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const head = [...lines, ...framingHeaders(framing, body)].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), framedBody(framing, body)]);
}

function framingHeaders(framing: Framing, { length }: Buffer): string[] {
  switch (framing) {
    case "length":
      return length === 0 ? [] : [`Content-Length: ${length}`];
    case "chunked":
    case "broken-chunks":
      return ["Transfer-Encoding: chunked"];
    case "two-lengths":
      return [`Content-Length: ${length}`, `Content-Length: ${Math.max(0, length - 1)}`];
    case "length-and-chunked":
      return [`Content-Length: ${length}`, "Transfer-Encoding: chunked"];
    case "cut-short":
      return [`Content-Length: ${length + 100}`];
  }
}

function framedBody(framing: Framing, body: Buffer): Buffer {
  if (framing !== "chunked" && framing !== "broken-chunks" && framing !== "length-and-chunked") return body;
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes);
    const size = framing === "broken-chunks" ? `-${chunk.length}` : chunk.length.toString(16);
    parts.push(Buffer.from(`${size}\r\n`), chunk, Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}
