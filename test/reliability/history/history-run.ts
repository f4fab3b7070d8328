import { setTimeout as delay } from "node:timers/promises";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../../resource-references.ts";
import { HistoryClient } from "./history-client.ts";
import type { ValueObject } from "./history-client.ts";
import type { HistoryTarget } from "./history-target.ts";
import { checkAgainstLog } from "./log-order.ts";
import type { Verdict } from "./log-order.ts";
import type { Operation } from "./operation.ts";
import { revisionFaults } from "./revision-order.ts";
import { SeededRandom } from "../seeded-random.ts";
import { WatchFollower } from "../watch-follower.ts";

export interface HistoryOptions {
  readonly target: HistoryTarget;
  readonly seconds: number;
  readonly clients: number;
  readonly seed: number;
  /** The time between the end of a fault and the next. Default 1,000. */
  readonly faultIntervalMilliseconds?: number;
}

export interface HistoryReport {
  readonly operations: number;
  readonly unknownOutcomes: number;
  readonly faults: number;
  readonly watchEvents: number;
  readonly watches: number;
  /** Results that a correct store would not have produced. */
  readonly violations: readonly string[];
  /** Objects for which the check could not decide whether their history is linearizable. */
  readonly undecided: readonly string[];
}

const namespace = "default";
const keys = ["history-a", "history-b", "history-c", "history-d"] as const;
const watcherCount = 4;
const reference: ResourceType<ValueObject> = resourceReferences(namesFor("platform")).configMaps;

/** Lets clients use a few objects while faults happen, and looks for anything that one honest store would not have done. */
export async function runHistory({
  target,
  seconds,
  clients,
  seed,
  faultIntervalMilliseconds = 1000,
}: HistoryOptions): Promise<HistoryReport> {
  const random = new SeededRandom(seed);
  const watching = new AbortController();
  const connections = Array.from({ length: clients + watcherCount + 1 }, (_, index) => target.connect(index));
  const [steady, ...others] = connections as [ApiClient, ...ApiClient[]];
  const followers = others
    .slice(0, watcherCount)
    .map((client) => ({ client, follower: new WatchFollower(reference, namespace) }));
  const following = followers.map(({ client, follower }) => follower.follow(client, watching.signal));
  for (const { follower } of followers) await follower.reached(1, { withinMilliseconds: 100_000 });

  // From here: on a busy machine, the watches may take longer to start than the clients have.
  const stopping = AbortSignal.timeout(seconds * 1000);
  const history = others.slice(watcherCount).map((client, index) => ({
    client,
    recorder: new HistoryClient({ name: `client-${index}`, reference, namespace, keys, random: random.fork() }),
  }));
  const using = history.map(({ client, recorder }) => recorder.run(client, stopping));
  let faults = 0;
  while (!stopping.aborted) {
    await delay(faultIntervalMilliseconds, undefined, { signal: stopping }).catch(() => {});
    if (stopping.aborted) break;
    await target.fault(random);
    faults += 1;
  }
  await Promise.all(using);

  const recorders = history.map(({ recorder }) => recorder);
  const violations = recorders.flatMap((recorder) => recorder.violations);
  violations.push(...revisionFaults(recorders.flatMap(({ revisions }) => revisions)));
  const followed = followers.map(({ follower }) => follower);
  violations.push(...(await watchFaults(followed, { steady, recorders })));
  const undecided: string[] = [];
  for (const key of keys) {
    const operations = recorders.flatMap((recorder) => recorder.operations.get(key) ?? []);
    const verdict = verdictOn(operations, { key, followed });
    if (verdict.type === "violation") violations.push(`${key}: ${verdict.fault}`);
    if (verdict.type === "undecided") undecided.push(`${key}: undecided: ${verdict.reason}`);
  }
  watching.abort();
  await Promise.all(following);
  for (const connection of connections) connection.close();

  const operations = recorders.flatMap((recorder) => [...recorder.operations.values()].flat());
  return {
    operations: operations.length,
    unknownOutcomes: operations.filter(({ outcome }) => outcome === "unknown").length,
    faults,
    watchEvents: followers.reduce((sum, { follower }) => sum + follower.events.length, 0),
    watches: followers.reduce((sum, { follower }) => sum + follower.watches, 0),
    violations,
    undecided,
  };
}

/** Uses the log of a watch that delivered every change from the start. */
function verdictOn(
  operations: readonly Operation[],
  { key, followed }: { readonly key: string; readonly followed: readonly WatchFollower[] },
): Verdict {
  const complete = followed.find(({ relists }) => relists === 0);
  if (complete === undefined) return { type: "undecided", reason: "every watch had to list again" };
  return checkAgainstLog(operations, { log: complete.events.filter(({ name }) => name === key) });
}

/**
 * All watches must have delivered the same events, including every written and every read version, and end with the
 * state of a list.
 */
async function watchFaults(
  followers: readonly WatchFollower[],
  { steady, recorders }: { readonly steady: ApiClient; readonly recorders: readonly HistoryClient[] },
): Promise<string[]> {
  const resource = steady.resource(reference, namespace);
  const fence = await retried(() =>
    resource.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "history-end-" } }),
  );
  const faults: string[] = [];
  for (const [index, follower] of followers.entries()) {
    const last = Number(fence.metadata.resourceVersion);
    if (!(await follower.reached(last, { withinMilliseconds: 100_000 }))) faults.push(`watch ${index} fell behind`);
  }
  const { items } = await retried(() => resource.list());
  const text = ({ events }: WatchFollower): string[] =>
    events.filter(({ name }) => isKey(name)).map((event) => `${event.type} ${event.name} ${event.revision}`);
  const [first, ...rest] = followers;
  if (first === undefined) return faults;
  const told = text(first);
  for (const follower of rest) {
    const other = text(follower);
    const at = told.findIndex((event, index) => event !== other[index]);
    if (at >= 0) faults.push(`one watch told ${told[at]}, another ${other[at]}`);
    if (other.length > told.length) faults.push(`one watch told ${other[told.length]}, another did not`);
  }
  for (const follower of followers) {
    faults.push(...follower.violations, ...follower.differencesFrom(items));
    if (follower.relists > 0) faults.push("a watch could not be resumed");
  }
  const versions = new Set(first.events.map(({ name, revision }) => `${name} ${revision}`));
  const isSeen = (key: string, operation: Operation): boolean =>
    !("revision" in operation) || versions.has(`${key} ${operation.revision}`);
  for (const { operations } of recorders) {
    for (const [key, ofKey] of operations) {
      const unseen = ofKey.find((operation) => !isSeen(key, operation));
      if (unseen !== undefined) faults.push(`no watch told of ${key}: ${JSON.stringify(unseen)}`);
    }
  }
  return faults;
}

const isKey = (name: string): boolean => keys.some((key) => key === name);

/** For requests after the faults: a connection may still lead to a process that is gone. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 100) throw error;
      await delay(50);
    }
  }
}
