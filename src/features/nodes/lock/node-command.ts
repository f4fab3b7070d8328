import { Command } from "commander";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { forEachName } from "../../../machinery/command-line/for-each-name.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { printList, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { nodeLockResource, nodeResource } from "../resources.ts";
import type { NodeLock } from "./node-locks.ts";

/** `signet node lock|unlock|locks`: locks machines out. */
export const node = (): Command =>
  new Command("node")
    .description("lock machines out, and let them in again")
    .addCommand(lock())
    .addCommand(unlock())
    .addCommand(locks());

/** Reads the name of a node, or of its lock. */
const nodeName = (given: string): string => nameWithoutKind("node")(nameWithoutKind("nodelock")(given));

interface LockFlags extends ConnectionFlags {
  readonly reason?: string;
}

const lock = (): Command =>
  withExamples(
    withConnectionFlags(new Command("lock"))
      .description(
        "refuse a machine's certificates, its Pods' tokens and its bootstrap tokens from the next request on",
      )
      .argument("<node...>", "the names of the nodes; a Node of that name need not exist")
      .option("--reason <text>", "why, for people")
      .action((nodes: readonly string[], flags: LockFlags) =>
        withServer(flags, ({ client, names }) =>
          forEachName(nodes.map(nodeName), async (name) => {
            const spec = { ...(flags.reason !== undefined && { reason: flags.reason }) };
            const lockOfNode = { metadata: { name }, spec };
            const isNew = await isDone(client.resource(nodeLockResource(names)).create(lockOfNode), 409);
            // With a misspelled name, the machine would not be locked out. The lock exists already, so a failure to read Nodes is ignored.
            const isNode = await isDone(client.resource(nodeResource(names)).get(name), 404).catch(() => true);
            if (!isNode) console.error(`warning: there is no Node ${printable(name)}; is this the right name?`);
            console.log(`node ${printable(name)} ${isNew ? "locked" : "was locked already"}`);
          }),
        ),
      ),
    ["Lock a stolen machine out", 'signet node lock edge-1 --reason "stolen on Monday"'],
  );

const unlock = (): Command =>
  withExamples(
    withConnectionFlags(new Command("unlock"))
      .description("let a machine in again, with the certificates that it has")
      .argument("<node...>", "the names of the nodes")
      .action((nodes: readonly string[], flags: ConnectionFlags) =>
        withServer(flags, ({ client, names }) =>
          forEachName(nodes.map(nodeName), async (name) => {
            const unlocking = client.resource(nodeLockResource(names)).delete(name);
            const wasLocked = await isDone(unlocking, 404);
            console.log(`node ${printable(name)} ${wasLocked ? "unlocked" : "was not locked"}`);
          }),
        ),
      ),
    ["Let a machine in again", "signet node unlock edge-1"],
  );

const columns: readonly TextColumn<NodeLock>[] = [
  { header: "NODE", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "SINCE", cell: ({ metadata }) => metadata.creationTimestamp ?? "" },
  { header: "REASON", cell: ({ spec }) => spec.reason ?? "<none>" },
];

const locks = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("locks")))
      .description("list the machines that are locked out")
      .action((flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async ({ client, names }) => {
          const type = nodeLockResource(names);
          printList(await listAll(client.resource(type)), { flags, type, columns });
        }),
      ),
    ["All machines that are locked out", "signet node locks"],
  );

/** Whether an operation succeeds. False when it is answered with this code. */
async function isDone(operation: Promise<unknown>, code: number): Promise<boolean> {
  const done = operation.then(() => true);
  return (await ignoreCodes([code], done)) ?? false;
}
