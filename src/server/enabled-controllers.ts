import { controllerNames, isControllerName } from "../machinery/api/controller-names.ts";
import type { ControllerName } from "../machinery/api/controller-names.ts";
import { UsageError } from "../machinery/command-line/flag.ts";

/**
 * The loops that `--controllers` switches on, by kube-controller-manager's rules: `NAME` is on and `-NAME` is off, the first
 * of the two decides; `*` is every loop that is not named. `false` and `-*` alone are no loop, `true` alone is every one. Throws
 * UsageError for a name that no loop has.
 */
export function enabledControllers(items: readonly string[]): ReadonlySet<ControllerName> {
  const [only] = items;
  if (items.length === 1 && (only === "false" || only === "-*")) return new Set();
  if (items.length === 1 && only === "true") return new Set(controllerNames);
  for (const item of items) {
    const name = item.replace(/^-/, "");
    if (item === "*" || isControllerName(name)) continue;
    throw new UsageError(
      `--controllers: there is no controller ${JSON.stringify(name)}; there are: *, ${controllerNames.join(", ")}`,
    );
  }
  const isOnByDefault = items.includes("*");
  return new Set(
    controllerNames.filter((name) => {
      const first = items.find((item) => item === name || item === `-${name}`);
      return first === undefined ? isOnByDefault : first === name;
    }),
  );
}
