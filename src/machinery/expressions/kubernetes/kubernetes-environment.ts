import type { Environment } from "@marcbachmann/cel-js";
import { expressionEnvironment } from "../metered-expression.ts";
import { addFormatFunctions } from "./format-functions.ts";
import { addListFunctions } from "./list-functions.ts";
import { addNetworkFunctions } from "./network-functions.ts";
import { addQuantityFunctions } from "./quantity-functions.ts";
import { addStringFunctions } from "./string-functions.ts";
import { addUrlFunctions } from "./url-functions.ts";

let shared: Environment | undefined;

/**
 * What expressions in Kubernetes' objects may use, besides the variables that are added to it: CEL with its extensions for
 * strings and sets, and Kubernetes' functions for lists, patterns, URLs, quantities, addresses, networks and formats. Not
 * there: comprehensions with two variables (`transformList`), `semver` and `jsonpatch`.
 */
export function kubernetesEnvironment(): Environment {
  if (shared === undefined) {
    shared = expressionEnvironment();
    for (const add of [
      addListFunctions,
      addStringFunctions,
      addUrlFunctions,
      addQuantityFunctions,
      addNetworkFunctions,
      addFormatFunctions,
    ]) {
      add(shared);
    }
  }
  return shared.clone();
}
