import { once } from "node:events";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import {
  clientPreface,
  defaultWindowBytes,
  frameHeaderBytes,
  frameTypes,
  maximumWindowBytes,
  settingIds,
} from "../../src/machinery/http2/protocol.ts";
import { encodeFrame, get, headerBlock, settings, windowUpdate } from "../../test/machinery/http2/frame-client.ts";
import { adminToken } from "../processes/server-process.ts";
import type { ServerProcess } from "../processes/server-process.ts";

const lineFeed = 10;

export interface WatchReaderOptions {
  readonly path: string;
  readonly watches: number;
  /** Called with the number of events since the last call. */
  readonly onEvents: (count: number) => void;
}

/**
 * Several watches on one connection. It only counts the lines that arrive: a client that does more takes more processor time than
 * the server, so a benchmark would measure the client. Its windows hold two gibibytes (client-go's: one), so it never stops the server.
 */
export class WatchReader {
  readonly #socket: TLSSocket;
  readonly #onEvents: (count: number) => void;
  /** The number of answers that have begun. */
  #heads = 0;
  readonly #header = Buffer.alloc(frameHeaderBytes);
  #headerBytes = 0;
  #payloadBytes = 0;
  #isData = false;

  private constructor(socket: TLSSocket, onEvents: (count: number) => void) {
    this.#socket = socket;
    this.#onEvents = onEvents;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Resolves when the server has begun to answer all watches. */
  static async open(
    { url, caCertificates }: ServerProcess,
    { path, watches, onEvents }: WatchReaderOptions,
  ): Promise<WatchReader> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), ca: caCertificates, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    const reader = new WatchReader(socket, onEvents);
    socket.write(clientPreface);
    socket.write(encodeFrame(settings([settingIds.initialWindowSize, maximumWindowBytes])));
    socket.write(encodeFrame(windowUpdate(0, maximumWindowBytes - defaultWindowBytes)));
    const token = headerBlock([["authorization", `Bearer ${adminToken}`]]);
    for (let index = 0; index < watches; index++) {
      const request = get(2 * index + 1, path);
      socket.write(encodeFrame({ ...request, payload: Buffer.concat([request.payload ?? token, token]) }));
    }
    while (reader.#heads < watches) await once(socket, "data");
    return reader;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let events = 0;
    for (let at = 0; at < chunk.length;) {
      if (this.#payloadBytes === 0) {
        at += this.#readHeader(chunk, at);
        continue;
      }
      const end = Math.min(chunk.length, at + this.#payloadBytes);
      this.#payloadBytes -= end - at;
      if (this.#isData) events += linesIn(chunk, { start: at, end });
      at = end;
    }
    this.#onEvents(events);
  }

  /** Returns how many bytes of a frame's header were read. The rest may be in the next part. */
  #readHeader(chunk: Buffer, at: number): number {
    const bytes = chunk.copy(this.#header, this.#headerBytes, at);
    this.#headerBytes += bytes;
    if (this.#headerBytes < frameHeaderBytes) return bytes;
    this.#headerBytes = 0;
    this.#payloadBytes = this.#header.readUIntBE(0, 3);
    this.#isData = this.#header[3] === frameTypes.data;
    if (this.#header[3] === frameTypes.headers) this.#heads++;
    return bytes;
  }
}

function linesIn(chunk: Buffer, { start, end }: { readonly start: number; readonly end: number }): number {
  let lines = 0;
  for (let at = chunk.indexOf(lineFeed, start); at >= 0 && at < end; at = chunk.indexOf(lineFeed, at + 1)) lines++;
  return lines;
}
