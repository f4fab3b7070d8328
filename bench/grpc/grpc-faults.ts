import { once } from "node:events";
import { constants, createServer } from "node:http2";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { BenchClient, ErrorReport } from "./grpc-clients.ts";

/** What happened to a failed call: the server never started it, the server refused it, or the outcome is unknown. */
type Truth = "not done" | "refused" | "unknown";

export interface FaultResult extends ErrorReport {
  readonly fault: string;
  readonly truth: Truth;
  /** How often the server received the call: more than once when the client repeats by itself. */
  readonly received: number;
}

interface Fault {
  readonly name: string;
  readonly truth: Truth;
  /** What the server does once it has the whole call. */
  readonly answer: (stream: ServerHttp2Stream, session: ServerHttp2Stream["session"]) => void;
}

const answerHeaders = { ":status": 200, "content-type": "application/grpc" };

const faults: readonly Fault[] = [
  {
    name: "stream refused (REFUSED_STREAM)",
    truth: "not done",
    answer: (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
  },
  {
    name: "etcd says no (status 14, no leader)",
    truth: "refused",
    answer: (stream) =>
      stream.respond(
        { ...answerHeaders, "grpc-status": "14", "grpc-message": "etcdserver: no leader" },
        { endStream: true },
      ),
  },
  {
    name: "etcd says no (status 3, too large)",
    truth: "refused",
    answer: (stream) =>
      stream.respond(
        { ...answerHeaders, "grpc-status": "3", "grpc-message": "etcdserver: request is too large" },
        { endStream: true },
      ),
  },
  {
    name: "connection lost after the call was received",
    truth: "unknown",
    answer: (_, session) => session?.socket.destroy(),
  },
  {
    name: "connection reset after the call was received",
    truth: "unknown",
    answer: (_, session) => session?.socket.resetAndDestroy(),
  },
  {
    name: "connection lost within the answer",
    truth: "unknown",
    answer: (stream, session) => {
      stream.respond(answerHeaders);
      stream.write(Buffer.from([0, 0, 0]));
      setTimeout(() => session?.socket.destroy(), 20);
    },
  },
  {
    name: "stream ended by the server (INTERNAL_ERROR)",
    truth: "unknown",
    answer: (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  },
  {
    name: "stream ended by the server (CANCEL)",
    truth: "unknown",
    answer: (stream) => stream.close(constants.NGHTTP2_CANCEL),
  },
  {
    name: "no answer in time",
    truth: "unknown",
    answer: () => {},
  },
];

/** Calls a closed port, and then a server that fails in every way. Each call has a new client. */
export async function callFaultyServer(
  open: (url: string) => BenchClient,
  report: (error: unknown) => ErrorReport,
): Promise<FaultResult[]> {
  const vacant = createTcpServer();
  const vacantUrl = await urlOf(vacant);
  await once(vacant.close(), "close");
  const results: FaultResult[] = [
    { fault: "nobody listens", truth: "not done", received: 0, ...report(await failureOf(open(vacantUrl))) },
  ];
  const leaving = createTcpServer(goAway);
  results.push({
    fault: "server leaves before it begins (GOAWAY, last stream 0)",
    truth: "not done",
    received: 0,
    ...report(await failureOf(open(await urlOf(leaving)))),
  });
  leaving.close();
  for (const { name, truth, answer } of faults) {
    let received = 0;
    const sessions = new Set<ServerHttp2Session>();
    const server = createServer();
    server.on("session", (session) => {
      sessions.add(session);
      session.on("error", () => {});
    });
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      stream.resume();
      stream.once("end", () => {
        received++;
        answer(stream, stream.session);
      });
    });
    const failure = report(await failureOf(open(await urlOf(server))));
    results.push({ fault: name, truth, received, ...failure });
    for (const session of sessions) session.destroy();
    server.close();
  }
  return results;
}

/** Hand-made frames, because the runtime's server can't send a GOAWAY that names fewer streams than it received (RFC 9113, section 6.8). */
function goAway(socket: Socket): void {
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const settingsAcknowledged = Buffer.from([0, 0, 0, 4, 1, 0, 0, 0, 0]);
  const lastStream0 = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  socket.on("error", () => {});
  socket.write(settings);
  socket.once("data", () => socket.write(settingsAcknowledged));
  setTimeout(() => socket.write(lastStream0), 100);
  setTimeout(() => socket.destroy(), 150);
}

async function urlOf(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
}

async function failureOf(client: BenchClient): Promise<unknown> {
  try {
    await client.unary("/etcdserverpb.KV/Txn", Buffer.from([0x0a, 0x00]));
    throw new Error("the faulty server answered");
  } catch (error) {
    return error;
  } finally {
    client.close();
  }
}
