import { once } from "node:events";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { EtcdClient } from "../../machinery/storage/etcd/etcd-client.ts";
import { alarmAdvice } from "../../machinery/storage/etcd/etcd-errors.ts";
import { etcdTlsFiles } from "../store/etcd-tls-files.ts";
import type { EtcdSettings } from "../store/etcd-tls-files.ts";
import type { StorageSettings } from "../settings/storage-settings.ts";
import { bad, good } from "./finding.ts";
import type { Finding } from "./finding.ts";

const answerMilliseconds = 3000;
const toleratedMilliseconds = 60_000;

/**
 * Compares this machine's clock with the clocks of etcd's members, from the Date header of their answers. A member that does not answer has
 * no finding here: `examineStorage` reports it.
 */
export async function examineEtcdClocks(storage: StorageSettings, now: number): Promise<Finding[]> {
  if (storage.type !== "etcd") return [];
  const findings = await Promise.all(
    storage.servers.map(async (server) => {
      const theirs = await timeOf(server, storage).catch(() => Number.NaN);
      if (Number.isNaN(theirs)) return [];
      const ahead = theirs - now;
      const what = `the clock of etcd's member ${server}`;
      if (Math.abs(ahead) <= toleratedMilliseconds) return [good("clock", `${what} agrees with this machine's`)];
      const direction = `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"}`;
      return [
        bad("clock", { found: `${what} is ${direction} this machine's`, advice: "set the wrong one (timedatectl)" }),
      ];
    }),
  );
  return findings.flat();
}

async function timeOf(server: string, settings: EtcdSettings): Promise<number> {
  const signal = AbortSignal.timeout(answerMilliseconds);
  const asking = server.startsWith("https:")
    ? https.get(`${server}/version`, {
        signal,
        agent: false,
        ...etcdTlsFiles(settings),
      })
    : http.get(`${server}/version`, { signal, agent: false });
  const [response] = (await once(asking, "response")) as [IncomingMessage]; // the event's only argument
  const { date = "" } = response.headers;
  asking.on("error", () => {}).destroy();
  return Date.parse(date);
}

/**
 * Reports the alarms of each member about its cluster. An alarm such as NOSPACE stops all writes, while reads continue. A member that does
 * not answer has no finding here.
 */
export async function examineEtcdAlarms(storage: StorageSettings): Promise<Finding[]> {
  if (storage.type !== "etcd") return [];
  const findings = await Promise.all(
    storage.servers.map(async (server) => {
      const faults = await faultsOf(server, storage).catch(() => []);
      return faults.map((fault) =>
        bad("storage", {
          found: `etcd's member ${server} says: ${fault.trim()}`,
          advice:
            Object.entries(alarmAdvice).find(([alarm]) => fault.includes(`alarm:${alarm}`))?.[1] ??
            "look at that member's log",
        }),
      );
    }),
  );
  return findings.flat();
}

async function faultsOf(server: string, settings: EtcdSettings): Promise<readonly string[]> {
  const client = new EtcdClient({
    servers: [server],
    tls: () => etcdTlsFiles(settings),
    callMilliseconds: answerMilliseconds,
  });
  try {
    return (await client.status()).faults;
  } finally {
    client.close();
  }
}
