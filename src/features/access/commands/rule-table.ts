import { textTableOf } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";

/** A rule of a role, or of a user's permissions. */
interface ShownRule {
  readonly verbs?: readonly string[] | null;
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const columns: readonly TextColumn<ShownRule>[] = [
  { header: "RESOURCES", cell: resourcesOf },
  { header: "NON-RESOURCE URLS", cell: ({ nonResourceURLs = [] }) => nonResourceURLs.join(",") },
  { header: "NAMES", cell: ({ resourceNames = [] }) => resourceNames.join(",") },
  { header: "VERBS", cell: ({ verbs }) => (verbs ?? []).join(",") },
];

/** Rules as kubectl shows them. */
export const ruleTable = (rules: readonly ShownRule[], flags: OutputFlags): string =>
  textTableOf(rules, { columns, flags });

/** Resources with their groups, such as `pods,deployments.apps`. */
function resourcesOf({ resources = [], apiGroups = [""] }: ShownRule): string {
  const suffixes = apiGroups.map((group) => (group === "" ? "" : `.${group}`));
  return resources.flatMap((resource) => suffixes.map((suffix) => `${resource}${suffix}`)).join(",");
}
