import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { encodeFrame, FrameReader } from "../../../../src/machinery/grpc/grpc-frames.ts";
import { decodeWatchAnswer } from "../../../../src/machinery/storage/etcd/etcd-messages.ts";
import { etcdMethods } from "../../../../src/machinery/storage/etcd/etcd-methods.ts";

export interface ForgetfulEtcd {
  readonly url: string;
  /** Whether the next message with events is lost, once. */
  losesNextEvents: boolean;
  stop(): Promise<void>;
}

/** Stands in front of a member of etcd, without TLS, and loses events when it is told to, as versions of etcd have done. */
export async function startForgetfulEtcd(member: string): Promise<ForgetfulEtcd> {
  const client = connect(member);
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on("session", (session) => void sessions.push(session));
  server.on("stream", (stream: ServerHttp2Stream, asked: IncomingHttpHeaders) => {
    const call = client.request(withoutAuthority(asked));
    const frames = new FrameReader(2 ** 26);
    let trailers: IncomingHttpHeaders = {};
    for (const one of [stream, call]) one.on("error", () => {});
    stream.pipe(call);
    stream.on("close", () => call.close());
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    call.on("response", (headers) => stream.respond(headers, { waitForTrailers: true }));
    call.on("trailers", (sent) => (trailers = sent));
    call.on("data", (bytes: Buffer) => {
      for (const message of frames.push(bytes))
        if (!isLost(asked[":path"], message)) stream.write(encodeFrame(message));
    });
    call.on("end", () => stream.end());
  });
  const isLost = (path: unknown, message: Buffer): boolean => {
    const hasEvents = path === etcdMethods.watch && decodeWatchAnswer(message).events.length > 0;
    if (!etcd.losesNextEvents || !hasEvents) return false;
    etcd.losesNextEvents = false;
    return true;
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const etcd: ForgetfulEtcd = {
    url: `http://127.0.0.1:${port}`,
    losesNextEvents: false,
    async stop() {
      for (const session of sessions) session.destroy();
      client.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return etcd;
}

const withoutAuthority = ({ ":authority": _authority, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders =>
  headers;
