import { Command } from "commander";
import { didYouMean } from "../../../machinery/command-line/did-you-mean.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import type { Example } from "../../../machinery/command-line/examples.ts";
import { fieldsText } from "../../../machinery/command-line/output/text-table.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { repeatedOption } from "../../../machinery/command-line/options.ts";
import { withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { Role } from "../rbac/roles.ts";
import { clusterRoleResource, roleResource } from "../resources.ts";
import { createRbacObject, rbacCommand, splitByCommas } from "./rbac-command.ts";
import type { RbacFlags, RbacKind } from "./rbac-command.ts";
import { ruleTable } from "./rule-table.ts";
import { findResource, knownResources } from "./known-resources.ts";
import type { KnownResource } from "./known-resources.ts";
import { warnOfUnknownVerbs } from "./unknown-verbs.ts";

const columns: readonly TextColumn<Role>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "CREATED", cell: ({ metadata }) => metadata.creationTimestamp ?? "" },
  { header: "RULES", cell: ({ rules }) => String(rules?.length ?? 0), isWide: true },
];

const ofRoles = { columns, describe: describeRole, create };

/** `signet role create|list|describe|delete`. */
export const role = (): Command =>
  rbacCommand({
    ...ofRoles,
    word: "role",
    noun: "role",
    description: "make and show roles: what may be done in a namespace",
    resource: roleResource,
    isNamespaced: true,
  });

/** `signet clusterrole create|list|describe|delete`. */
export const clusterRole = (): Command =>
  rbacCommand({
    ...ofRoles,
    word: "clusterrole",
    noun: "cluster role",
    description: "make and show cluster roles: what may be done everywhere",
    resource: clusterRoleResource,
    isNamespaced: false,
  });

function describeRole({ metadata, rules }: Role, flags: OutputFlags): string {
  const fields = fieldsText([
    ["Name:", metadata.name],
    ["Namespace:", metadata.namespace],
    ["Created:", metadata.creationTimestamp],
    ["Rules:", rules === null || rules.length === 0 ? "<none>" : ""],
  ]);
  return rules === null || rules.length === 0 ? fields : `${fields}\n${ruleTable(rules, flags)}`;
}

interface CreateFlags extends RbacFlags {
  readonly verb?: readonly string[];
  readonly resource?: readonly string[];
  readonly resourceName?: readonly string[];
  readonly nonResourceUrl?: readonly string[];
}

function create(kind: RbacKind<Role>): Command {
  const command = withOutputFlag(withConnectionFlags(new Command("create")))
    .description(`make a ${kind.noun}; kubectl's flags`)
    .argument("<name>", `the ${kind.noun}'s name`)
    .addOption(repeatedOption("--verb <verb>", "what may be done: get, list, create, ...; * is every verb; commas too"))
    .addOption(
      repeatedOption(
        "--resource <resource>",
        "with what: pods, pods/log, csr, deployments.apps; *.* is everything; commas too",
      ),
    )
    .addOption(repeatedOption("--resource-name <name>", "only with objects of this name"));
  if (!kind.isNamespaced) {
    command.addOption(
      repeatedOption("--non-resource-url <path>", "with a path that is not a resource, such as /metrics"),
    );
  }
  command.action(async (name: string, flags: CreateFlags) => {
    checkRule(kind, flags);
    warnOfUnknownVerbs(splitByCommas(flags.verb), {
      areOfResources: splitByCommas(flags.resource).length > 0,
      areOfPaths: splitByCommas(flags.nonResourceUrl).length > 0,
    });
    await withServer(flags, async (connection) => {
      const rules = await rulesOf(connection, { kind, flags });
      await createRbacObject(kind, { connection, object: { metadata: { name }, rules }, flags });
    });
  });
  const approval: Example = [
    "Let people approve requests to one signer, if another role lets them update csr/approval",
    `signet ${kind.word} create approvers --verb approve --resource signers --resource-name example.com/services`,
  ];
  return withExamples(
    command,
    ["Read events and Pods", `signet ${kind.word} create readers --verb get,list,watch --resource events,pods`],
    ...(kind.isNamespaced ? [] : [approval]),
    [
      "Issue tokens for one account",
      `signet ${kind.word} create robot-tokens --verb create --resource serviceaccounts/token --resource-name robot`,
    ],
  );
}

function checkRule(kind: RbacKind<Role>, flags: CreateFlags): void {
  if (splitByCommas(flags.verb).length === 0)
    throw new UsageError("--verb: say what may be done, as in --verb get,list");
  const hasResources = splitByCommas(flags.resource).length > 0;
  const hasPaths = splitByCommas(flags.nonResourceUrl).length > 0;
  if (!hasResources && !hasPaths) {
    const other = kind.isNamespaced ? "" : ", or --non-resource-url /metrics";
    throw new UsageError(`--resource: say with what, as in --resource pods${other}`);
  }
  if (splitByCommas(flags.resourceName).length > 0 && !hasResources) {
    throw new UsageError("--resource-name: give --resource too");
  }
  const wrong = splitByCommas(flags.nonResourceUrl).find((path) => !nonResourcePath.test(path));
  if (wrong !== undefined) {
    throw new UsageError(
      `--non-resource-url: ${JSON.stringify(wrong)} matches no path; give one that begins with /, which may end with *, or only *`,
    );
  }
}

/** As kubectl takes them. With others, the rule would allow nothing. */
const nonResourcePath = /^(?:\*|\/[^*]*\*?)$/;

/** Reads `*` (all of the core group), `*.GROUP` (all of that group) and `*.*` (everything), as kubectl does. */
function everyResourceOf(type: string): Pick<KnownResource, "group" | "resource" | "isNamespaced"> | undefined {
  const every = /^\*(?:\.(.+))?$/.exec(type);
  return every === null ? undefined : { group: every[1] ?? "", resource: "*", isNamespaced: true };
}

/** A rule for each API group, as kubectl makes them. */
async function rulesOf(
  connection: ServerConnection,
  { kind, flags }: { readonly kind: RbacKind<Role>; readonly flags: CreateFlags },
): Promise<PolicyRule[]> {
  const { names } = connection;
  const verbs = splitByCommas(flags.verb);
  const resourceNames = splitByCommas(flags.resourceName);
  const nonResourceURLs = splitByCommas(flags.nonResourceUrl);
  const byGroup = new Map<string, string[]>();
  const wanted = splitByCommas(flags.resource);
  const known = wanted.every((one) => everyResourceOf(one) !== undefined) ? [] : await knownResources(connection);
  for (const one of wanted) {
    // As kubectl, which takes pods/ for pods.
    const [type = "", ...subresource] = one.replace(/\/$/, "").split("/");
    const found = everyResourceOf(type) ?? findResource(known, { wanted: type, names });
    if (found === undefined) {
      const meant = didYouMean(
        type,
        known.flatMap((one) => [...one.names]),
      );
      throw new UsageError(
        `--resource: the server has no resource ${JSON.stringify(type)}${meant}; kubectl api-resources lists them`,
      );
    }
    // A Role may allow `namespaces`: a request for one namespace counts as a request in that namespace.
    if (kind.isNamespaced && !found.isNamespaced && found.resource !== "namespaces") {
      console.error(
        `warning: a role allows nothing with ${found.resource}, which are in no namespace; use a cluster role`,
      );
    }
    const resources = byGroup.get(found.group) ?? [];
    resources.push([found.resource, ...subresource].join("/"));
    byGroup.set(found.group, resources);
  }
  return [
    ...Array.from(byGroup, ([group, resources]) => ({
      verbs,
      apiGroups: [group],
      resources,
      ...(resourceNames.length > 0 && { resourceNames }),
    })),
    ...(nonResourceURLs.length > 0 ? [{ verbs, nonResourceURLs }] : []),
  ];
}
