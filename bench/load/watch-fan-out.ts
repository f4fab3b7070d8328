import { setTimeout as delay } from "node:timers/promises";
import { Http2Caller } from "./http2-caller.ts";
import { repeatConcurrently } from "./repeat-concurrently.ts";
import { adminToken } from "../processes/server-process.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { WatchReader } from "./watch-reader.ts";

export interface FanOutOptions {
  readonly server: ServerProcess;
  /** The path of service accounts in one namespace. */
  readonly accounts: string;
  /** Distinguishes the objects of this round from those of other rounds. */
  readonly label: string;
  readonly watchers: number;
  readonly writes: number;
  /** How many writes run at the same time. */
  readonly writers: number;
  /** How many additional watches never read their events. */
  readonly stalledWatchers: number;
  /** The length of a text in each object. */
  readonly noteBytes: number;
}

export interface FanOut {
  readonly watchers: number;
  readonly writers: number;
  readonly stalledWatchers: number;
  /** What a watch gets for one object. */
  readonly eventBytes: number;
  readonly delivered: number;
  readonly expected: number;
  readonly deliveriesPerSecond: number;
  /** The server's processor time for a delivery, in all its threads, including the creates. */
  readonly cpuMicroseconds: number;
}

const watchersPerConnection = 50;
const longestMilliseconds = 60_000;
const warmUpWrites = 100;

/** Opens watches, writes objects, and counts events until all have arrived. */
export async function watchFanOut(options: FanOutOptions): Promise<FanOut> {
  const { server, accounts, label, watchers, writes, writers, stalledWatchers, noteBytes } = options;
  const connect = (): Http2Caller => new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken });
  const path = `${accounts}?watch=true&labelSelector=fan%3D${label}`;
  const [writer, stalled] = [connect(), connect()];
  const expected = watchers * writes;
  let delivered = 0;
  let lastDelivery = 0;
  const onEvents = (count: number): void => {
    delivered += count;
    lastDelivery = performance.now();
  };
  const readers: WatchReader[] = [];
  for (let left = watchers; left > 0; left -= watchersPerConnection) {
    readers.push(await WatchReader.open(server, { path, watches: Math.min(left, watchersPerConnection), onEvents }));
  }
  const stalledStreams = Array.from({ length: stalledWatchers }, () => stalled.open(path).pause());
  await Promise.all(stalledStreams.map((stream) => new Promise((resolve) => stream.once("response", resolve))));
  const note = "x".repeat(noteBytes);
  const create = async (name: string): Promise<string> => {
    const metadata = { name: `${label}-${name}`, labels: { fan: label }, annotations: { note } };
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata };
    const { status, text } = await writer.call("POST", accounts, { body });
    if (status !== 201) throw new Error(text);
    return text;
  };
  const untilDelivered = async (count: number): Promise<void> => {
    const from = performance.now();
    const isWaiting = (): boolean => delivered < count && performance.now() - from < longestMilliseconds;
    while (isWaiting()) await delay(5);
  };
  // A watch that has delivered this object has looked at all existing objects. From here on, only new events cost time.
  const eventBytes = (await create("first")).length + '{"type":"ADDED","object":}\n'.length;
  await untilDelivered(watchers);
  // The first events compile the code.
  await repeatConcurrently({ times: warmUpWrites, concurrency: writers }, (index) => create(`warm-${index}`));
  await untilDelivered(watchers * (1 + warmUpWrites));
  delivered = 0;
  const cpu = server.cpuSeconds();
  const start = performance.now();
  await repeatConcurrently({ times: writes, concurrency: writers }, (index) => create(String(index)));
  await untilDelivered(expected);
  const cpuMicroseconds = ((server.cpuSeconds() - cpu) * 1e6) / delivered;
  for (const connection of [...readers, writer, stalled]) connection.close();
  const deliveriesPerSecond = Math.round(delivered / ((lastDelivery - start) / 1000));
  return { watchers, writers, stalledWatchers, eventBytes, delivered, expected, deliveriesPerSecond, cpuMicroseconds };
}
