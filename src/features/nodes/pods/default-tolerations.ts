import type { Names } from "../../../machinery/api/names.ts";
import type { Pod } from "./schema/pod-schema.ts";
import type { Toleration } from "./schema/scheduling.ts";

const defaultSeconds = 300;

/**
 * Adds tolerations with which a Pod stays for five minutes on a node that is not ready or cannot be reached, unless the Pod already
 * tolerates these taints (upstream: the admission plugin DefaultTolerationSeconds).
 */
export function withDefaultTolerations(spec: Pod["spec"], names: Names): Pod["spec"] {
  const { tolerations = [] } = spec;
  const missing = ["not-ready", "unreachable"]
    .map((state) => names.subdomainKey("node", state))
    .filter((taint) => !tolerations.some((one) => appliesTo(one, { taint, names })))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: defaultSeconds }));
  return missing.length === 0 ? spec : { ...spec, tolerations: [...tolerations, ...missing] };
}

/** Whether a toleration applies to a taint with this key, in either spelling, and the effect NoExecute. */
const appliesTo = (
  { key = "", effect = "" }: Toleration,
  { taint, names }: { readonly taint: string; readonly names: Names },
): boolean => (key === "" || names.ownKey(key) === taint) && (effect === "" || effect === "NoExecute");
