import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { clientOf } from "../reliability/client-of.ts";
import type { HistoryTarget } from "../reliability/history/history-target.ts";
import { startEtcd, untilEtcdAnswers } from "../machinery/storage/etcd/etcd-process.ts";
import type { EtcdMember } from "../machinery/storage/etcd/etcd-process.ts";
import { roles } from "./faults.ts";
import { Replica } from "./replica.ts";

const outageMilliseconds = 3_000;

/**
 * Replicas on three members of etcd, each client at one of them. The faults: SIGKILL of a replica, of the leader or another
 * member of etcd, all of etcd stopped, a replica cut off.
 */
export async function replicasTarget(count: number): Promise<HistoryTarget> {
  const folder = mkdtempSync(join(tmpdir(), "signet-history-"));
  const etcd = await startEtcd({ size: 3 });
  const replicas: Replica[] = [];
  for (let index = 0; index < count; index++) {
    const [sharesWith] = replicas;
    replicas.push(
      await Replica.start({ name: `replica-${index}`, folder, etcd, ...(sharesWith !== undefined && { sharesWith }) }),
    );
  }
  const restartAfterKill = async (member: EtcdMember): Promise<void> => {
    await member.kill();
    await delay(outageMilliseconds);
    member.restart();
    await untilEtcdAnswers(member, etcd.tls);
  };
  const faults = [
    async (replica: Replica) => {
      await replica.kill();
      await replica.restart();
    },
    async () => restartAfterKill((await roles(etcd)).leader),
    async () => restartAfterKill((await roles(etcd)).follower),
    async () => {
      await Promise.all(etcd.members.map((member) => member.pause()));
      await delay(outageMilliseconds);
      for (const member of etcd.members) member.resume();
    },
    async (replica: Replica) => {
      replica.cutOff();
      await delay(outageMilliseconds);
      replica.reconnect();
    },
  ];
  return {
    name: `${count} replicas on 3 members of etcd`,
    connect: (index) => clientOf((replicas[index % count] as Replica).address), // one of those started above
    async fault(random) {
      const replica = replicas[random.integer(0, count - 1)] as Replica; // likewise
      await faults[random.integer(0, faults.length - 1)]?.(replica);
      while (!(await replica.isReady())) await delay(50);
    },
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await etcd.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
