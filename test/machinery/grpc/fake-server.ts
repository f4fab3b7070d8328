import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { GrpcChannel } from "../../../src/machinery/grpc/grpc-channel.ts";
import { socketFolder } from "../../socket-folder.ts";

const types = { data: 0, headers: 1, settings: 4 };
const endStream = 1;
const endHeaders = 4;

interface FrameFields {
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Buffer;
}

function frame(type: number, { flags = 0, streamId = 0, payload = Buffer.alloc(0) }: FrameFields): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

/** The frames of an answer to the first call of a connection. */
export const answer = {
  /** `:status: 200`, which HPACK's static table has. */
  head: frame(types.headers, { flags: endHeaders, streamId: 1, payload: Buffer.from([0x88]) }),
  part: (payload: Buffer): Buffer => frame(types.data, { streamId: 1, payload }),
  /** `grpc-status: 0`, as a literal. */
  end: frame(types.headers, {
    flags: endHeaders | endStream,
    streamId: 1,
    payload: Buffer.concat([Buffer.from([0, 11]), Buffer.from("grpc-status"), Buffer.from([1]), Buffer.from("0")]),
  }),
};

export interface FakeServer {
  readonly channel: GrpcChannel;
  /** Puts bytes into the client's socket before it returns. The client reads them in a later turn of the event loop. */
  send(...frames: readonly Buffer[]): void;
  /** Resolves once the client has read all that was sent. */
  untilRead(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that says only what the test says, with a channel to it. */
export async function openFakeServer(): Promise<FakeServer> {
  const folder = socketFolder();
  const path = join(folder, "socket");
  const server = createServer();
  server.listen(path);
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>; // net's event
  const connected = GrpcChannel.connect({ url: `unix://${path}`, timeoutMilliseconds: 60_000 });
  const [socket] = await accepted;
  socket.on("error", () => {});
  socket.resume();
  let sentBytes = 0;
  const send = (...frames: readonly Buffer[]): void => {
    const bytes = Buffer.concat(frames);
    sentBytes += bytes.length;
    socket.write(bytes);
  };
  send(frame(types.settings, {}));
  const channel = await connected;
  return {
    channel,
    send,
    async untilRead() {
      while (channel.receivedBytes < sentBytes) await nextTurn();
    },
    async [Symbol.asyncDispose]() {
      channel.close();
      socket.destroy();
      server.close();
      await once(server, "close");
      rmSync(folder, { recursive: true });
    },
  };
}
