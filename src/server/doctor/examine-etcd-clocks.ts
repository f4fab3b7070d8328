import { once } from "node:events";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { readSettingsFile } from "../../machinery/command-line/settings-files.ts";
import type { StorageSettings } from "../storage-settings.ts";
import { bad, good } from "./finding.ts";
import type { Finding } from "./finding.ts";

const answerMilliseconds = 3000;
const toleratedMilliseconds = 60_000;

/**
 * Compares this machine's clock with those of etcd's members, which say their time in the header Date. A member that does not
 * answer has no finding here: the look at the storage has it.
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
      return [bad("clock", `${what} is ${direction} this machine's`, "set the wrong one (timedatectl)")];
    }),
  );
  return findings.flat();
}

type EtcdSettings = Extract<StorageSettings, { readonly type: "etcd" }>;

async function timeOf(server: string, { authorityFile, clientCertificate: pair }: EtcdSettings): Promise<number> {
  const signal = AbortSignal.timeout(answerMilliseconds);
  const asking = server.startsWith("https:")
    ? https.get(`${server}/version`, {
        signal,
        agent: false,
        ...(authorityFile !== undefined && { ca: readSettingsFile("etcd-cafile", authorityFile) }),
        ...(pair !== undefined && {
          cert: readSettingsFile(pair.certificateFlag, pair.certificateFile),
          key: readSettingsFile(pair.keyFlag, pair.keyFile),
        }),
      })
    : http.get(`${server}/version`, { signal, agent: false });
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  const { date = "" } = response.headers;
  asking.on("error", () => {}).destroy();
  return Date.parse(date);
}
