import { setTimeout as delay } from "node:timers/promises";
import { EtcdStore } from "../../src/machinery/storage/backends/etcd.ts";
import { ProtobufReader } from "../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { GrpcChannel } from "../../src/machinery/grpc/grpc-channel.ts";
import { untilEtcdAnswers } from "../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster, EtcdMember } from "../machinery/storage/etcd/etcd-process.ts";
import type { FaultLoad } from "./fault-load.ts";
import type { Replica } from "./replica.ts";

export interface FaultScene {
  readonly etcd: EtcdCluster;
  readonly replicas: readonly [Replica, Replica, ...Replica[]];
  readonly load: FaultLoad;
  /** How long a lasting fault lasts. */
  readonly outageMilliseconds: number;
}

/** What a fault has shown. */
export interface FaultOutcome {
  /** The start of the recovery time: the fault itself, or its end when nothing can be served during it. */
  readonly recoveryFrom: "the fault" | "its end";
  /** The time until a write through each running replica was acknowledged. */
  readonly recoveryMilliseconds: readonly number[];
  /** When a replica could not serve. */
  readonly outages: readonly { readonly replica: Replica; readonly from: number; readonly to: number }[];
}

export interface Fault {
  readonly name: string;
  /** Causes the fault, and then repairs what it broke. */
  run(scene: FaultScene): Promise<FaultOutcome>;
}

export const faults: readonly Fault[] = [
  {
    name: "SIGKILL of a replica",
    async run({ replicas, load }) {
      const [killed, ...others] = replicas;
      const from = performance.now();
      await killed.kill();
      const recoveryMilliseconds = await load.recoveredAfter(from, others);
      await delay(1_000);
      const to = performance.now();
      await killed.restart();
      return { recoveryFrom: "the fault", recoveryMilliseconds, outages: [{ replica: killed, from, to }] };
    },
  },
  {
    name: "SIGKILL of an etcd member",
    run: (scene) => killMember(scene, async (etcd) => (await roles(etcd)).follower),
  },
  {
    name: "SIGKILL of the etcd leader",
    run: (scene) => killMember(scene, async (etcd) => (await roles(etcd)).leader),
  },
  {
    name: "etcd stopped (SIGSTOP)",
    async run({ etcd, replicas, load, outageMilliseconds }) {
      const from = performance.now();
      await Promise.all(etcd.members.map((member) => member.pause()));
      await delay(outageMilliseconds);
      const to = performance.now();
      for (const member of etcd.members) member.resume();
      return {
        recoveryFrom: "its end",
        recoveryMilliseconds: await load.recoveredAfter(to, replicas),
        outages: replicas.map((replica) => ({ replica, from, to })),
      };
    },
  },
  {
    name: "a replica cut off from etcd and back",
    async run({ replicas, load, outageMilliseconds }) {
      const [cutOff] = replicas;
      const from = performance.now();
      cutOff.cutOff();
      await delay(outageMilliseconds);
      const to = performance.now();
      cutOff.reconnect();
      const recoveryMilliseconds = await load.recoveredAfter(to, replicas);
      return { recoveryFrom: "its end", recoveryMilliseconds, outages: [{ replica: cutOff, from, to }] };
    },
  },
  {
    name: "etcd compacted under open watches, and behind the back of a replica that is cut off",
    async run({ etcd, replicas, load, outageMilliseconds }) {
      const [cutOff] = replicas;
      const store = new EtcdStore({ servers: etcd.urls, prefix: "/signet", profile: "platform" });
      const compactNow = async (): Promise<void> => store.compact(await store.latestRevision());
      try {
        for (let round = 0; round < 10; round++) {
          await compactNow();
          await delay(100);
        }
        const from = performance.now();
        cutOff.cutOff();
        await delay(outageMilliseconds / 2);
        await compactNow();
        await delay(outageMilliseconds / 2);
        const to = performance.now();
        cutOff.reconnect();
        const recoveryMilliseconds = await load.recoveredAfter(to, replicas);
        return { recoveryFrom: "its end", recoveryMilliseconds, outages: [{ replica: cutOff, from, to }] };
      } finally {
        await store.close();
      }
    },
  },
];

async function killMember(
  { etcd, replicas, load }: FaultScene,
  choose: (etcd: EtcdCluster) => Promise<EtcdMember>,
): Promise<FaultOutcome> {
  const member = await choose(etcd);
  const from = performance.now();
  await member.kill();
  const recoveryMilliseconds = await load.recoveredAfter(from, replicas);
  await delay(1_000);
  member.restart();
  await untilEtcdAnswers(member, etcd.tls);
  return { recoveryFrom: "the fault", recoveryMilliseconds, outages: [] };
}

/** The member that leads now, and a member that does not. */
export async function roles({ members, tls }: EtcdCluster): Promise<{ leader: EtcdMember; follower: EtcdMember }> {
  const statuses = await Promise.all(members.map(async (member) => ({ member, ...(await statusOf(member, tls)) })));
  const leader = statuses.find(({ id, leaderId }) => id === leaderId)?.member;
  const follower = statuses.find(({ id, leaderId }) => id !== leaderId)?.member;
  if (leader === undefined || follower === undefined) throw new Error("etcd has no leader");
  return { leader, follower };
}

/** Ids are 64 bits. Rounded to numbers they still distinguish the members. */
async function statusOf({ url }: EtcdMember, tls: EtcdCluster["tls"]): Promise<{ id: number; leaderId: number }> {
  const channel = await GrpcChannel.connect({ url, tls, timeoutMilliseconds: 1_000 });
  try {
    const reader = new ProtobufReader(
      await channel.unary("/etcdserverpb.Maintenance/Status", { message: Buffer.alloc(0), timeoutMilliseconds: 1_000 }),
    );
    let id = 0;
    let leaderId = 0;
    while (reader.nextField()) {
      if (reader.field === 1) id = memberIdOf(reader.message());
      else if (reader.field === 4) leaderId = reader.int64();
    }
    return { id, leaderId };
  } finally {
    channel.close();
  }
}

function memberIdOf(header: ProtobufReader): number {
  let id = 0;
  while (header.nextField()) {
    if (header.field === 2) id = header.int64();
  }
  return id;
}
