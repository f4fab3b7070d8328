import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../reliability/seeded-random.ts";
import { startEtcd } from "../machinery/storage/etcd/etcd-process.ts";
import { FaultLoad } from "./fault-load.ts";
import type { Fault } from "./faults.ts";
import { ReadinessLog } from "./readiness-log.ts";
import { Replica } from "./replica.ts";

export interface FaultRunOptions {
  readonly fault: Fault;
  /** At least 2. */
  readonly replicas: number;
  readonly clients: number;
  readonly seed: number;
  readonly outageMilliseconds: number;
  /** How long clients write before the fault and after it. */
  readonly calmMilliseconds: number;
}

export interface FaultReport {
  readonly acknowledged: number;
  /** Writes without an answer or with a 5xx answer. */
  readonly unknown: number;
  readonly events: number;
  /** Watches that received a 410 and had to start again. */
  readonly expired: number;
  readonly recovery: string;
  /** Acknowledged writes that are gone, and objects that are not whole. */
  readonly losses: readonly string[];
  /** Events that watches missed without a 410, replicas that differ, and wrong readiness. */
  readonly violations: readonly string[];
}

/** The time until an outage must show in `/readyz`, and the time until its end must show. */
const noticedWithinMilliseconds = 5_500;
const recoveredWithinMilliseconds = 60_000;

/** Causes one fault under load, with three members of etcd and separate replicas of the server. */
export async function runFault(options: FaultRunOptions): Promise<FaultReport> {
  const { fault, clients, seed, outageMilliseconds, calmMilliseconds } = options;
  const folder = mkdtempSync(join(tmpdir(), "signet-faults-"));
  const etcd = await startEtcd({ size: 3 });
  const replicas: Replica[] = [];
  try {
    for (let index = 0; index < options.replicas; index++) {
      const [sharesWith] = replicas;
      const name = `replica-${index}`;
      replicas.push(await Replica.start({ name, folder, etcd, ...(sharesWith && { sharesWith }) }));
    }
    const load = new FaultLoad({ replicas, clients, random: new SeededRandom(seed) });
    const readiness = new ReadinessLog(replicas);
    await load.start();
    await delay(calmMilliseconds);
    const [first, second, ...others] = replicas;
    if (first === undefined || second === undefined) throw new Error("a fault needs two replicas");
    const outcome = await fault.run({ etcd, replicas: [first, second, ...others], load, outageMilliseconds });
    await delay(calmMilliseconds);
    const violations = await untrueReadiness(replicas, readiness, outcome.outages);
    await readiness.stop();
    await load.stopAndExamine();
    return {
      acknowledged: load.acknowledged,
      unknown: load.unknown,
      events: load.events,
      expired: load.expired,
      recovery: `${Math.max(...outcome.recoveryMilliseconds)} ms after ${outcome.recoveryFrom}`,
      losses: load.losses,
      violations: [...violations, ...load.violations],
    };
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function untrueReadiness(
  replicas: readonly Replica[],
  readiness: ReadinessLog,
  outages: readonly { readonly replica: Replica; readonly from: number; readonly to: number }[],
): Promise<string[]> {
  const lies: string[] = [];
  for (const { replica, from, to } of outages) {
    const noticed = from + noticedWithinMilliseconds;
    if (noticed >= to) continue;
    if (readiness.answers(replica, { from: noticed, to }).includes(true)) {
      lies.push(`${replica.name} said that it was ready while it could not reach the store`);
    }
    if (!readiness.answers(replica, { from, to }).includes(false)) {
      lies.push(`${replica.name} did not say that it could not reach the store`);
    }
  }
  const deadline = performance.now() + recoveredWithinMilliseconds;
  for (const replica of replicas) {
    while (!(await replica.isReady())) {
      if (performance.now() > deadline) {
        lies.push(`${replica.name} does not get ready again`);
        break;
      }
      await delay(50);
    }
  }
  return lies;
}
