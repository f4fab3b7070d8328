import { Command, Option } from "commander";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { NamedResourceType } from "../../../machinery/api/resource-type.ts";
import type { NewObject, ResourceClient } from "../../../machinery/client/api-client.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { forEachName } from "../../../machinery/command-line/for-each-name.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { printList, printObject, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";

export type RbacFlags = ConnectionFlags & OutputFlags;

/** What the commands of a kind of RBAC have in common. */
export interface RbacKind<T extends ApiObject> {
  /** The name of the kind on the command line, such as `rolebinding`. */
  readonly word: string;
  /** The name of the kind in sentences, such as `role binding`. */
  readonly noun: string;
  readonly description: string;
  readonly resource: NamedResourceType<T>;
  readonly isNamespaced: boolean;
  readonly columns: readonly TextColumn<T>[];
  readonly describe: (object: T, flags: OutputFlags) => string;
  readonly create: (kind: RbacKind<T>) => Command;
  /** Whether an object is for a subject: with it, `list` has the flag --subject. */
  readonly isFor?: (object: T, subject: string) => boolean;
}

/** The commands of a kind. */
export const rbacCommand = <T extends ApiObject>(kind: RbacKind<T>): Command =>
  new Command(kind.word)
    .description(kind.description)
    .addCommand(kind.create(kind))
    .addCommand(listCommand(kind))
    .addCommand(describeCommand(kind))
    .addCommand(deleteCommand(kind));

/** The objects of a kind in a namespace. "" means all namespaces, and is also used for kinds without namespaces. */
const objectsOf = <T extends ApiObject>(
  kind: RbacKind<T>,
  { client, names, namespace }: Pick<ServerConnection, "client" | "names" | "namespace">,
): ResourceClient<T> => client.resource(kind.resource(names), kind.isNamespaced ? namespace : "");

interface ListFlags extends RbacFlags {
  readonly allNamespaces?: boolean;
  readonly subject?: string;
}

const allNamespaces = new Option("-A, --all-namespaces", "those of all namespaces");

function listCommand<T extends ApiObject>(kind: RbacKind<T>): Command {
  const { isFor } = kind;
  const command = withOutputFlag(withConnectionFlags(new Command("list"))).description(`list ${kind.noun}s`);
  if (kind.isNamespaced) command.addOption(allNamespaces);
  if (isFor !== undefined) {
    command.option(
      "--subject <name>",
      "only those for this subject: NAME, User:NAME, Group:NAME or ServiceAccount:NS:NAME",
    );
  }
  command.action((flags: ListFlags) =>
    withServer(flags, async (connection) => {
      const isOfAllNamespaces = flags.allNamespaces === true;
      const found = await listAll(objectsOf(kind, isOfAllNamespaces ? { ...connection, namespace: "" } : connection));
      const { subject } = flags;
      const items =
        subject === undefined || isFor === undefined ? found.items : found.items.filter((one) => isFor(one, subject));
      const namespaceColumn: TextColumn<T> = { header: "NAMESPACE", cell: ({ metadata }) => metadata.namespace ?? "" };
      const columns = isOfAllNamespaces ? [namespaceColumn, ...kind.columns] : kind.columns;
      printList({ ...found, items }, { flags, type: kind.resource(connection.names), columns });
    }),
  );
  return isFor === undefined
    ? withExamples(command, [`All ${kind.noun}s`, `signet ${kind.word} list`])
    : withExamples(
        command,
        ["Everything that was given to anna", `signet ${kind.word} list --subject User:anna`],
        ["What an account got", `signet ${kind.word} list --subject ServiceAccount:team:robot -o wide`],
      );
}

const describeCommand = <T extends ApiObject>(kind: RbacKind<T>): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("describe")))
      .description(`show a ${kind.noun}`)
      .argument("<name>", `the ${kind.noun}'s name`, nameWithoutKind(kind.word))
      .action((name: string, flags: RbacFlags) =>
        withServer(flags, async (connection) => {
          const object = await objectsOf(kind, connection).get(name);
          printObject(object, {
            flags,
            type: kind.resource(connection.names),
            text: () => kind.describe(object, flags),
          });
        }),
      ),
    ["As a file that kubectl apply takes", `signet ${kind.word} describe readers -o yaml`],
  );

const deleteCommand = <T extends ApiObject>(kind: RbacKind<T>): Command =>
  withExamples(
    withConnectionFlags(new Command("delete"))
      .description(`delete ${kind.noun}s`)
      .argument("<name...>", "the names")
      .action((given: readonly string[], flags: ConnectionFlags) =>
        withServer(flags, (connection) =>
          forEachName(given.map(nameWithoutKind(kind.word)), async (name) => {
            await objectsOf(kind, connection).delete(name);
            console.log(`${kind.noun} ${printable(name)} deleted`);
          }),
        ),
      ),
    ["Delete one", `signet ${kind.word} delete readers`],
  );

interface RbacCreation<T extends ApiObject> {
  readonly connection: ServerConnection;
  readonly object: NewObject<T>;
  readonly flags: OutputFlags;
}

/** Creates an object and prints that it was created. */
export async function createRbacObject<T extends ApiObject>(
  kind: RbacKind<T>,
  { connection, object, flags }: RbacCreation<T>,
): Promise<void> {
  const created = await objectsOf(kind, connection).create(object);
  const text = (): string => `${kind.noun} ${printable(object.metadata.name ?? "")} created`;
  printObject(created, { flags, type: kind.resource(connection.names), text });
}

/** Values that are repeated, or joined by commas, as kubectl takes them. */
export const splitByCommas = (values: readonly string[] = []): string[] =>
  values.flatMap((one) => one.split(",")).filter((one) => one !== "");
