import type { HealthCheck } from "../machinery/http/health-routes.ts";
import type { Store } from "../machinery/storage/store.ts";

/** Whoever asks for health wants an answer soon: what takes longer is not healthy. */
const checkMilliseconds = 2_000;

/** Whether the store can be reached, and whether the copies in memory follow it. */
export function storeChecks(store: Store, copies: { waitUntilCurrent(): Promise<void> }): HealthCheck[] {
  return [
    { name: "store", check: () => withinBounds(store.latestRevision()) },
    { name: "watch-cache", endpoints: ["readyz"], check: () => withinBounds(copies.waitUntilCurrent()) },
  ];
}

async function withinBounds(checked: unknown): Promise<void> {
  if (!(checked instanceof Promise)) return;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${checkMilliseconds} ms`)), checkMilliseconds);
  try {
    await Promise.race([checked, promise]);
  } finally {
    clearTimeout(timer);
  }
}
