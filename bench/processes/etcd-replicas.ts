import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EtcdCluster } from "../../test/machinery/storage/etcd/etcd-process.ts";
import { Http2Caller } from "../load/http2-caller.ts";
import { processCpuSeconds } from "./process-cpu.ts";
import { adminToken, startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { prepareWorkloads } from "../load/workloads.ts";

/** Several servers on one etcd, with a connection to each. */
export interface EtcdReplicas {
  readonly servers: readonly ServerProcess[];
  /** Sends a request to one of the servers. Rejects when the request is not answered with 2xx. */
  call(replica: number, method: string, path: string, body?: unknown): Promise<void>;
  stop(): Promise<void>;
}

interface EtcdReplicasOptions {
  readonly count: number;
  /** The servers' program. Default: that of this checkout. */
  readonly main?: string;
}

/** Starts the servers one after the other, all with the keys of the first, and creates the objects that the workloads name. */
export async function startEtcdReplicas(
  { urls }: EtcdCluster,
  { count, ...program }: EtcdReplicasOptions,
): Promise<EtcdReplicas> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-replicas-"));
  const folder = (index: number): string => join(scratch, `replica-${index}`, "data");
  const servers: ServerProcess[] = [];
  const callers: Http2Caller[] = [];
  const stop = async (): Promise<void> => {
    for (const caller of callers) caller.close();
    for (const server of servers) await server.stop();
    rmSync(scratch, { recursive: true, force: true });
  };
  try {
    for (let index = 0; index < count; index++) {
      mkdirSync(folder(index), { recursive: true, mode: 0o700 });
      const keys = index === 0 ? [] : readdirSync(folder(0)).filter((file) => /\.(?:crt|key)$/.test(file));
      for (const file of keys) cpSync(join(folder(0), file), join(folder(index), file));
      const server = await startServerProcess(folder(index), {
        flags: [`--etcd-servers=${urls.join(",")}`],
        ...program,
      });
      servers.push(server);
      callers.push(new Http2Caller(server.url, { ca: server.caCertificates, token: adminToken }));
    }
    const [first] = servers;
    if (first === undefined) throw new Error("at least one replica is needed");
    await prepareWorkloads(first);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    servers,
    async call(replica, method, path, body) {
      const answer = await callers[replica]?.call(method, path, { body });
      if (answer === undefined || answer.status < 200 || answer.status > 299)
        throw new Error(`${method} ${path}: ${answer?.status} ${answer?.text}`);
    },
    stop,
  };
}

/** Seconds of processor time of all members until now. */
export const etcdCpuSeconds = ({ members }: EtcdCluster): number =>
  members.map((member) => processCpuSeconds(member.process().pid ?? 0)).reduce((sum, one) => sum + one, 0);
