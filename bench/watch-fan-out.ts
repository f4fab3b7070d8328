import { setTimeout as delay } from "node:timers/promises";
import { Http2Caller } from "./http2-caller.ts";
import { processCpuSeconds } from "./process-cpu.ts";
import { adminToken } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

export interface FanOutOptions {
  readonly server: ServerProcess;
  /** The path of service accounts in one namespace. */
  readonly accounts: string;
  /** Sets this round's objects apart from other rounds'. */
  readonly label: string;
  readonly watchers: number;
  readonly writes: number;
  /** Watches besides that never read what they are sent. */
  readonly stalledWatchers: number;
  /** The length of a text in each object. */
  readonly noteBytes: number;
}

export interface FanOut {
  readonly watchers: number;
  readonly stalledWatchers: number;
  readonly delivered: number;
  readonly expected: number;
  readonly deliveriesPerSecond: number;
  /** The server's processor time for a delivery, in all its threads; the creates are in it too. */
  readonly cpuMicroseconds: number;
}

const watchersPerConnection = 50;
const longestMilliseconds = 60_000;
const lineFeed = 10;

/** Opens watches, writes objects one after the other, and counts what arrives until all has. */
export async function watchFanOut(options: FanOutOptions): Promise<FanOut> {
  const { server, accounts, label, watchers, writes, stalledWatchers, noteBytes } = options;
  const connect = (): Http2Caller => new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
  const path = `${accounts}?watch=true&labelSelector=fan%3D${label}`;
  const sessions = Array.from({ length: Math.ceil(watchers / watchersPerConnection) }, connect);
  const [writer, stalled] = [connect(), connect()];
  const expected = watchers * writes;
  let delivered = 0;
  let lastDelivery = 0;
  const opened = Array.from({ length: watchers }, (_, index) =>
    sessions[index % sessions.length]?.open(path).on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, at + 1)) delivered++;
      lastDelivery = performance.now();
    }),
  );
  const stalledStreams = Array.from({ length: stalledWatchers }, () => stalled.open(path).pause());
  await Promise.all(
    [...opened, ...stalledStreams].map((stream) => new Promise((resolve) => stream?.once("response", resolve))),
  );
  const note = "x".repeat(noteBytes);
  const create = (name: string): Promise<unknown> => {
    const metadata = { name: `${label}-${name}`, labels: { fan: label }, annotations: { note } };
    return writer.call("POST", accounts, { body: { apiVersion: "v1", kind: "ServiceAccount", metadata } });
  };
  const untilDelivered = async (count: number): Promise<void> => {
    const from = performance.now();
    const isWaiting = (): boolean => delivered < count && performance.now() - from < longestMilliseconds;
    while (isWaiting()) await delay(5);
  };
  // A watch that has told this one has looked at all existing objects: only new events cost anything from here on.
  await create("first");
  await untilDelivered(watchers);
  delivered = 0;
  const cpu = processCpuSeconds(server.process.pid ?? 0);
  const start = performance.now();
  for (let n = 0; n < writes; n++) await create(String(n));
  await untilDelivered(expected);
  const cpuMicroseconds = ((processCpuSeconds(server.process.pid ?? 0) - cpu) * 1e6) / delivered;
  for (const session of [...sessions, writer, stalled]) session.close();
  const deliveriesPerSecond = Math.round(delivered / ((lastDelivery - start) / 1000));
  return { watchers, stalledWatchers, delivered, expected, deliveriesPerSecond, cpuMicroseconds };
}
