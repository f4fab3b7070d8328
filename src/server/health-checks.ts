import type { HealthCheck } from "../machinery/http/routes/health-routes.ts";
import { waitAtMost } from "../machinery/scheduling/wait-at-most.ts";
import type { Store } from "../machinery/storage/store.ts";

/** The time limit of a health check. A slower store counts as unhealthy. */
const checkMilliseconds = 2_000;

/** An expected failure, whose stack is not logged. */
class FailedCheck extends Error {}

/** When a write takes longer, the server is not ready. On a busy disk, a write may take seconds. */
const writeMilliseconds = 10_000;

/** Checks that the store can be reached and written, and that the caches follow it. */
export function storeChecks(store: Store, copies: { waitUntilCurrent(): Promise<void> }): HealthCheck[] {
  return [
    { name: "store", check: () => withinBounds(store.latestRevision()) },
    { name: "store-writes", endpoints: ["readyz"], check: () => refuseStuckWrite(store) },
    { name: "watch-cache", endpoints: ["readyz"], check: () => withinBounds(copies.waitUntilCurrent()) },
  ];
}

function refuseStuckWrite(store: Store): void {
  const milliseconds = store.writingMilliseconds?.() ?? 0;
  if (milliseconds <= writeMilliseconds) return;
  throw new FailedCheck(
    `a write has waited for ${Math.floor(milliseconds / 1000)} s: ` +
      "look whether the disk answers, and whether another process of this data directory is suspended",
  );
}

async function withinBounds(checked: unknown): Promise<void> {
  if (!(checked instanceof Promise)) return;
  const isAnswered = checked.then(() => true);
  if ((await waitAtMost(checkMilliseconds, isAnswered)) === undefined)
    throw new FailedCheck(`no answer within ${checkMilliseconds} ms`);
}

/** Fails once the server is stopping, so that load balancers use another server. */
export const shutdownCheck = (health: { readonly isStopping: boolean }): HealthCheck => ({
  name: "shutdown",
  endpoints: ["readyz"],
  check: () => {
    if (health.isStopping) throw new FailedCheck("the server is stopping");
  },
});
