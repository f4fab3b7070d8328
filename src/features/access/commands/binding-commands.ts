import { Command } from "commander";
import type { Names } from "../../../machinery/api/names.ts";
import { serviceAccountUsername, serviceAccountUsernamePrefix } from "../../../machinery/api/user-info.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { fieldsText } from "../../../machinery/command-line/output/text-table.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { repeatedOption } from "../../../machinery/command-line/options.ts";
import { textTableOf, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import type { RoleRef, Subject } from "../rbac/binding.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import { subjectsOf } from "../rbac/subjects-of.ts";
import { clusterRoleBindingResource, roleBindingResource } from "../resources.ts";
import { createRbacObject, rbacCommand, splitByCommas } from "./rbac-command.ts";
import type { RbacFlags, RbacKind } from "./rbac-command.ts";

const subjectText = ({ kind, namespace, name }: Subject): string =>
  kind === "ServiceAccount" ? `${kind}:${namespace ?? ""}:${name}` : `${kind}:${name}`;

const columns: readonly TextColumn<RoleBinding>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "ROLE", cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}` },
  { header: "SUBJECTS", cell: (binding) => subjectsOf(binding).map(subjectText).join(",") },
  { header: "CREATED", cell: ({ metadata }) => metadata.creationTimestamp ?? "", isWide: true },
];

const ofBindings = { columns, describe: describeBinding, create, isFor };

/** `signet rolebinding create|list|describe|delete`. */
export const roleBinding = (): Command =>
  rbacCommand({
    ...ofBindings,
    word: "rolebinding",
    noun: "role binding",
    description: "make and show role bindings: who may do what a role says, in a namespace",
    resource: roleBindingResource,
    isNamespaced: true,
  });

/** `signet clusterrolebinding create|list|describe|delete`. */
export const clusterRoleBinding = (): Command =>
  rbacCommand({
    ...ofBindings,
    word: "clusterrolebinding",
    noun: "cluster role binding",
    description: "make and show cluster role bindings: who may do what a cluster role says, everywhere",
    resource: clusterRoleBindingResource,
    isNamespaced: false,
  });

/** Whether a binding names a subject. */
function isFor(binding: RoleBinding, wanted: string): boolean {
  const name = wanted.replace(/^(user|group|serviceaccount):/i, lowerCase);
  return subjectsOf(binding).some((subject) => namesOf(subject).includes(name));
}

const lowerCase = (text: string): string => text.toLowerCase();

/** The ways to name a subject: alone or with its kind, an account also by its user name. */
function namesOf({ kind, namespace = "", name }: Subject): string[] {
  const user = kind === "ServiceAccount" ? serviceAccountUsername(namespace, name) : name;
  if (kind === "Group" || !user.startsWith(serviceAccountUsernamePrefix))
    return [name, `${kind.toLowerCase()}:${name}`];
  const account = user.slice(serviceAccountUsernamePrefix.length);
  return [name, account, `serviceaccount:${account}`, user, `user:${user}`];
}

const subjectColumns: readonly TextColumn<Subject>[] = [
  { header: "KIND", cell: ({ kind }) => kind },
  { header: "NAME", cell: ({ name }) => name },
  { header: "NAMESPACE", cell: ({ namespace }) => namespace ?? "" },
];

function describeBinding(binding: RoleBinding, flags: OutputFlags): string {
  const { metadata, roleRef } = binding;
  const subjects = subjectsOf(binding);
  const fields = fieldsText([
    ["Name:", metadata.name],
    ["Namespace:", metadata.namespace],
    ["Created:", metadata.creationTimestamp],
    ["Role:", `${roleRef.kind}/${roleRef.name}`],
    ["Subjects:", subjects.length === 0 ? "<none>" : ""],
  ]);
  return subjects.length === 0 ? fields : `${fields}\n${textTableOf(subjects, { columns: subjectColumns, flags })}`;
}

interface CreateFlags extends RbacFlags {
  readonly role?: string;
  readonly clusterrole?: string;
  readonly user?: readonly string[];
  readonly group?: readonly string[];
  readonly serviceaccount?: readonly string[];
}

function create(kind: RbacKind<RoleBinding>): Command {
  const command = withOutputFlag(withConnectionFlags(new Command("create")))
    .description(`make a ${kind.noun}; kubectl's flags`)
    .argument("<name>", `the ${kind.noun}'s name`)
    .option("--clusterrole <name>", "the cluster role that is given")
    .addOption(repeatedOption("--user <name>", "a user who gets it"))
    .addOption(repeatedOption("--group <name>", "a group whose members get it"))
    .addOption(repeatedOption("--serviceaccount <namespace:name>", "a service account that gets it"));
  if (kind.isNamespaced) command.option("--role <name>", "the role of the namespace that is given");
  command.action(async (name: string, flags: CreateFlags) => {
    const reference = roleReference(kind, flags);
    const accounts = splitByCommas(flags.serviceaccount).map(parseAccount);
    if (accounts.length + (flags.user ?? []).length + (flags.group ?? []).length === 0) {
      throw new UsageError("say who gets it: --user, --group or --serviceaccount");
    }
    await withServer(flags, async (connection) => {
      const object = {
        metadata: { name },
        roleRef: { apiGroup: kind.resource(connection.names).group, ...reference },
        subjects: [...people(connection.names, flags), ...accounts],
      };
      await createRbacObject(kind, { connection, object, flags });
    });
  });
  return withExamples(
    command,
    ["Let a group read", `signet ${kind.word} create dev-readers --clusterrole view --group dev`],
    ["Let an account write", `signet ${kind.word} create robot --clusterrole edit --serviceaccount team:robot`],
  );
}

function roleReference(kind: RbacKind<RoleBinding>, { role, clusterrole }: CreateFlags): Omit<RoleRef, "apiGroup"> {
  if (role !== undefined && clusterrole === undefined) return { kind: "Role", name: role };
  if (clusterrole !== undefined && role === undefined) return { kind: "ClusterRole", name: clusterrole };
  throw new UsageError(kind.isNamespaced ? "name one of --role and --clusterrole" : "name the role: --clusterrole");
}

function parseAccount(text: string): Subject {
  const [namespace = "", name = "", ...rest] = text.split(":");
  if (namespace !== "" && name !== "" && rest.length === 0) return { kind: "ServiceAccount", namespace, name };
  throw new UsageError(`--serviceaccount: ${JSON.stringify(text)} is not NAMESPACE:NAME`);
}

function people(names: Names, { user = [], group = [] }: CreateFlags): Subject[] {
  const apiGroup = names.group("rbac.authorization");
  return [
    ...user.map((name) => ({ kind: "User", apiGroup, name })),
    ...group.map((name) => ({ kind: "Group", apiGroup, name })),
  ];
}
