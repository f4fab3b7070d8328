import { setTimeout as delay } from "node:timers/promises";
import { Http2Caller } from "./http2-caller.ts";
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
}

export interface FanOut {
  readonly watchers: number;
  readonly stalledWatchers: number;
  readonly delivered: number;
  readonly expected: number;
  readonly deliveriesPerSecond: number;
}

const watchersPerConnection = 50;
const longestMilliseconds = 60_000;
/** Enough of it that a hundred events are more than a connection takes from a reader that does not read. */
const note = "x".repeat(4096);

/** Opens watches, writes objects one after the other, and counts what arrives until all has. */
export async function watchFanOut(options: FanOutOptions): Promise<FanOut> {
  const { server, accounts, label, watchers, writes, stalledWatchers } = options;
  const connect = (): Http2Caller => new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
  const path = `${accounts}?watch=true&labelSelector=fan%3D${label}`;
  const sessions = Array.from({ length: Math.ceil(watchers / watchersPerConnection) }, connect);
  const [writer, stalled] = [connect(), connect()];
  const expected = watchers * writes;
  let delivered = 0;
  let lastDelivery = 0;
  const opened = Array.from({ length: watchers }, (_, index) =>
    sessions[index % sessions.length]?.watch(path, (line) => {
      if (!line.includes(`"${label}-`)) return;
      delivered++;
      lastDelivery = performance.now();
    }),
  );
  const stalledStreams = Array.from({ length: stalledWatchers }, () => stalled.watch(path, () => {}).pause());
  await Promise.all(
    [...opened, ...stalledStreams].map((stream) => new Promise((resolve) => stream?.once("response", resolve))),
  );
  const start = performance.now();
  for (let n = 0; n < writes; n++) {
    const metadata = { name: `${label}-${n}`, labels: { fan: label }, annotations: { note } };
    await writer.call("POST", accounts, { body: { apiVersion: "v1", kind: "ServiceAccount", metadata } });
  }
  const isOver = (): boolean => delivered >= expected || performance.now() - start > longestMilliseconds;
  while (!isOver()) await delay(5);
  for (const session of [...sessions, writer, stalled]) session.close();
  const deliveriesPerSecond = Math.round(delivered / ((lastDelivery - start) / 1000));
  return { watchers, stalledWatchers, delivered, expected, deliveriesPerSecond };
}
