import { Environment } from "@marcbachmann/cel-js";
import { addMacros } from "./add-macros.ts";
import { addConversionFunctions } from "./functions/conversion-functions.ts";
import { addFormatFunctions } from "./functions/format-functions.ts";
import { addListFunctions } from "./functions/list-functions.ts";
import { addNetworkFunctions } from "./functions/network-functions.ts";
import { addOptionalFunctions } from "./functions/optional-functions.ts";
import { addQuantityFunctions } from "./functions/quantity-functions.ts";
import { addSemverFunctions } from "./functions/semver-functions.ts";
import { addStringFunctions } from "./functions/string-functions.ts";
import { addTimeFunctions } from "./functions/time-functions.ts";
import { addUrlFunctions } from "./functions/url-functions.ts";

const limits = { maxAstNodes: 4000, maxDepth: 60, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 16 };

let shared: Environment | undefined;

/**
 * What expressions in Kubernetes' objects and files may use, besides the variables that are added to it (upstream:
 * `k8s.io/apiserver/pkg/cel/environment`, as of 1.35): CEL with its extensions for strings, lists, sets, optional values and
 * comprehensions with two variables, and Kubernetes' functions for lists, patterns, URLs, quantities, addresses, networks, versions
 * and formats.
 */
export function kubernetesEnvironment(): Environment {
  if (shared === undefined) {
    // Lists may mix types, as the values of `format` do. `refuseMixedTypes` checks other lists later.
    shared = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits });
    for (const add of [
      addMacros,
      addConversionFunctions,
      addTimeFunctions,
      addStringFunctions,
      addListFunctions,
      addOptionalFunctions,
      addUrlFunctions,
      addQuantityFunctions,
      addNetworkFunctions,
      addSemverFunctions,
      addFormatFunctions,
    ]) {
      add(shared);
    }
  }
  return shared.clone();
}
