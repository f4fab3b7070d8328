import { emptySet, unionOfAll } from "./field-set.ts";
import { managerId } from "./managed-fields.ts";
import type { FieldManager, FieldManagers } from "./managed-fields.ts";

/** Upstream: DefaultMaxUpdateManagers. */
const maximumUpdateManagers = 10;
const bucketManager = "ancient-changes";

/**
 * Limits the number of updaters of an object: merges the oldest ones of a version into one, `ancient-changes`. Appliers
 * are never merged.
 */
export function capUpdateManagers(managers: FieldManagers): FieldManagers {
  const updaters = [...managers.values()].filter(({ operation }) => operation === "Update");
  if (updaters.length <= maximumUpdateManagers) return managers;
  const capped = new Map(managers);
  for (const [apiVersion, merged] of oldestByVersion(updaters)) {
    if (merged.length < 2) continue;
    const bucket = { manager: bucketManager, operation: "Update", apiVersion, subresource: "" } as const;
    for (const updater of merged) capped.delete(managerId(updater));
    const fields = unionOfAll([...merged, capped.get(managerId(bucket))].map((updater) => updater?.fields ?? emptySet));
    capped.set(managerId(bucket), { ...bucket, time: merged.at(-1)?.time, fields });
  }
  return capped;
}

/** Takes as many of the oldest as necessary. In each version, the second and every later one saves an entry. */
function oldestByVersion(updaters: readonly FieldManager[]): Map<string, FieldManager[]> {
  const ageOf = (updater: FieldManager): string => `${updater.time ?? ""}\n${managerId(updater)}`;
  const oldestFirst = updaters.toSorted((left, right) => (ageOf(left) < ageOf(right) ? -1 : 1));
  const byVersion = new Map<string, FieldManager[]>();
  let excess = updaters.length - maximumUpdateManagers;
  for (const updater of oldestFirst) {
    if (excess === 0) break;
    const merged = byVersion.get(updater.apiVersion);
    if (merged === undefined) {
      byVersion.set(updater.apiVersion, [updater]);
    } else {
      merged.push(updater);
      excess--;
    }
  }
  return byVersion;
}
