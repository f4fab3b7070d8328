/**
 * Compares the processor time of replicas on etcd, and of etcd itself, with that of another checkout. Each has an etcd of its own. They
 * are loaded in turns, so both meet the same machine, also one whose speed changes. All requests go to the first replica; the others
 * only follow. The checkout needs its node_modules.
 *
 *   npm run bench:compare-replicas -- CHECKOUT [--replicas N] [--rounds N] [--requests N] [--only create|change|get]
 */
import { join, resolve } from "node:path";
import { needPrograms } from "../tools/needed-programs.ts";
import { oneOf, programFlags, refuse, wholeNumber, words } from "../tools/program-flags.ts";
import { startEtcd } from "../test/machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../test/machinery/storage/etcd/etcd-process.ts";
import { etcdCpuSeconds, startEtcdReplicas } from "./processes/etcd-replicas.ts";
import type { EtcdReplicas } from "./processes/etcd-replicas.ts";
import { mean } from "./report/averages.ts";
import { comparisonHead, comparisonRow, inTurns } from "./load/in-turns.ts";
import { markdownTable } from "./report/markdown-table.ts";
import { repeatConcurrently } from "./load/repeat-concurrently.ts";
import { accounts, serviceAccount } from "./load/workloads.ts";

const {
  replicas: replicaCount,
  rounds,
  requests,
  only,
  positionals,
} = programFlags(import.meta.filename, {
  replicas: wholeNumber(3),
  rounds: wholeNumber(25),
  requests: wholeNumber(400),
  only: oneOf(["create", "change", "get"]),
  positionals: words(),
});
needPrograms(import.meta.filename, ["etcd"]);
const [otherCheckout] = positionals;
if (otherCheckout === undefined) {
  refuse(import.meta.filename, "name the folder of the other CHECKOUT");
}

interface Side {
  readonly etcd: EtcdCluster;
  readonly replicas: EtcdReplicas;
  made: number;
  changed: number;
}

interface Costs {
  readonly etcd: number;
  readonly asked: number;
  /** The mean of the other replicas. */
  readonly following: number;
}

const parts = [
  ["etcd", "etcd"],
  ["asked", "the replica that is asked"],
  ["following", "the replica that follows"],
] as const satisfies [keyof Costs, string][];
const measured = replicaCount > 1 ? parts : parts.slice(0, 2);

type Operation = (side: Side, index: number) => Promise<void>;

const create: Operation = (side) =>
  side.replicas.call(0, "POST", accounts, serviceAccount({ name: `made-${side.made++}` }));
const operations: Readonly<Record<string, Operation>> = {
  create,
  change: (side, index) =>
    side.replicas.call(0, "PATCH", `${accounts}/made-${index % side.made}`, {
      metadata: { labels: { changed: String(side.changed++) } },
    }),
  get: ({ replicas }) => replicas.call(0, "GET", `${accounts}/bench`),
};

/** Sends the requests, and returns the processor time for one, in microseconds. */
async function load(side: Side, operation: Operation): Promise<Costs> {
  const read = (): number[] => [
    etcdCpuSeconds(side.etcd),
    ...side.replicas.servers.map((server) => server.cpuSeconds()),
  ];
  const before = read();
  await repeatConcurrently({ times: requests, concurrency: 64 }, (index) => operation(side, index));
  const used = read().map((seconds, at) => ((seconds - (before[at] ?? 0)) * 1e6) / requests);
  const [etcd = 0, asked = 0, ...others] = used;
  return { etcd, asked, following: mean(others) };
}

async function startSide(main: string): Promise<Side> {
  const etcd = await startEtcd({ heartbeatMilliseconds: 100 });
  etcds.push(etcd);
  const replicas = await startEtcdReplicas(etcd, { count: replicaCount, main });
  const side: Side = { etcd, replicas, made: 0, changed: 0 };
  sides.push(side);
  return side;
}

const etcds: EtcdCluster[] = [];
const sides: Side[] = [];
try {
  const other = await startSide(join(resolve(otherCheckout), "src/main.js"));
  const own = await startSide(join(import.meta.dirname, "../src/main.js"));
  // Creates the objects that later requests name, and compiles the code.
  for (let warm = 0; warm < 4; warm++) for (const side of sides) await load(side, create);
  const rows: string[][] = [];
  for (const [name, operation] of Object.entries(operations)) {
    if (only !== undefined && only !== name) continue;
    for (let warm = 0; warm < 3; warm++) for (const side of sides) await load(side, operation);
    const costs = await inTurns({ rounds, other: () => load(other, operation), own: () => load(own, operation) });
    for (const [part, what] of measured) {
      const ofPart = (side: readonly Costs[]): number[] => side.map((one) => one[part]);
      rows.push(comparisonRow(`${name}: ${what}`, { others: ofPart(costs.others), owns: ofPart(costs.owns) }));
    }
  }
  console.log(markdownTable(comparisonHead, rows));
} finally {
  for (const { replicas } of sides) await replicas.stop();
  for (const etcd of etcds) await etcd.stop();
}
