import { hostileText } from "../mutations/hostile-text.ts";
import { mutateBytes } from "../mutations/mutate-bytes.ts";
import { generateText } from "./generate-text.ts";
import { anyOf, inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

export type QuerySort = "read" | "list" | "write" | "apply" | "delete";

const labelSelectors = [
  "a",
  "!a",
  "a=b",
  "a==b",
  "a!=b",
  "a in (b,c)",
  "a notin (b)",
  "a>1",
  "a<9",
  "a in (",
  "a=b,",
  "example.com/b=c",
  "()",
  "a in ()",
] as const;
const fieldSelectors = [
  "metadata.name=robot",
  "metadata.namespace=fuzz-a",
  "metadata.name!=x",
  "spec.signerName=example.com/signer",
  "type=Opaque",
  "status.phase=Active",
  "spec.nodeName=node-1",
  "metadata.name==a\\,b",
  "x=y",
  "metadata.name",
] as const;
const booleans = ["true", "false", "1", "0", "", "yes"] as const;
const numbers = ["0", "1", "2", "500", "-1", "9223372036854775807", "1e3", "x", ""] as const;

const parametersOf: Readonly<Record<QuerySort, readonly string[]>> = {
  read: ["pretty", "resourceVersion"],
  list: [
    "watch",
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "includeObject",
  ],
  write: ["dryRun", "fieldManager", "fieldValidation", "pretty"],
  apply: ["dryRun", "fieldManager", "force", "fieldValidation"],
  delete: [
    "dryRun",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "uid",
    "resourceVersion",
    "labelSelector",
    "limit",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "continue",
  ],
};
const everyParameter = Object.values(parametersOf).flat();

/** Query options as they are sent: those of the verb, with values of every sort, now and then broken as text. */
export function generateQuery(sort: QuerySort, context: GeneratorContext): string {
  const { random } = context;
  const parts: string[] = sort === "apply" && inPercent(random, 90) ? ["fieldManager=fuzz"] : [];
  // Most deletions are dry runs. Otherwise no objects would be left for other inputs.
  const dryPercent = sort === "delete" ? 75 : sort === "write" || sort === "apply" ? 25 : 0;
  if (inPercent(random, dryPercent)) parts.push("dryRun=All");
  while (inPercent(random, 30)) {
    const name = anyOf(random, inPercent(random, 85) ? parametersOf[sort] : everyParameter);
    parts.push(`${name}=${encodeURIComponent(valueOf(name, context).toWellFormed())}`);
  }
  const query = parts.join("&");
  if (inPercent(random, 97)) return query;
  return printable(mutateBytes(Buffer.from(query === "" ? "watch=1&limit=1" : query), random).toString("latin1"));
}

/** A request's target cannot hold blanks and control characters: HTTP itself ends there. */
export const printable = (text: string): string =>
  text.replace(/[^!-~]/g, (character) => encodeURIComponent(character.toWellFormed()));

function valueOf(name: string, context: GeneratorContext): string {
  const { random } = context;
  if (inPercent(random, 10)) return hostileText(random);
  switch (name) {
    case "labelSelector":
      return selectorOf(labelSelectors, context);
    case "fieldSelector":
      return selectorOf(fieldSelectors, context);
    case "limit":
    case "timeoutSeconds":
    case "gracePeriodSeconds":
      return random.pick([...numbers]);
    case "continue":
    case "uid":
    case "resourceVersion":
      return generateText(name, context);
    case "resourceVersionMatch":
      return random.pick(["Exact", "NotOlderThan", "exact"]);
    case "dryRun":
      return random.pick(["All", "", "None"]);
    case "fieldValidation":
      return random.pick(["Strict", "Warn", "Ignore", "strict"]);
    case "propagationPolicy":
      return random.pick(["Foreground", "Background", "Orphan", "x"]);
    case "includeObject":
      return random.pick(["Metadata", "Object", "None"]);
    case "fieldManager":
      return random.pick(["fuzz", "other", "x".repeat(129)]);
    default:
      return random.pick([...booleans]);
  }
}

function selectorOf(selectors: readonly string[], { random }: GeneratorContext): string {
  const parts = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => anyOf(random, selectors));
  const selector = parts.join(random.pick([",", ",", ", ", ",,"]));
  if (inPercent(random, 1)) return `${selector},`.repeat(2_000);
  return inPercent(random, 20) ? mutateBytes(Buffer.from(selector), random).toString("latin1") : selector;
}
