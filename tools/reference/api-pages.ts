/** The API reference: an index, a page for each kind, and one for the types that every group shares. */
import { kubernetesNames, platformNames } from "../../src/machinery/api/names.ts";
import type { Names } from "../../src/machinery/api/names.ts";
import { verbsOf, verbsOfSubresource } from "../../src/machinery/http/served-resources.ts";
import type { Definition } from "../../src/machinery/http/served-resources.ts";
import type { ObjectSchema, Schema } from "../../src/machinery/schema/schema.ts";
import { storedResources } from "../../src/server/served-kinds.ts";
import { describedReviews } from "./described-reviews.ts";
import { cell, code, page, table } from "./markdown.ts";

const notice = "<!-- Written by `npm run docs:api` from the schemas. Do not edit. -->";
const sharedPage = "meta.md";

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What a page needs to know of a kind, in one naming profile. */
interface DocumentedKind extends GroupVersionKind {
  readonly isStored: boolean;
  readonly scope: "Namespaced" | "Cluster";
  /** `/api/v1/namespaces/{namespace}/serviceaccounts`. */
  readonly path: string;
  readonly verbs: readonly string[];
  readonly schema: ObjectSchema;
  /** Only for stored kinds. */
  readonly resource?: Extract<Definition, { readonly columns: unknown }>;
}

/** The files of the reference by their paths below docs/reference. */
export function apiPages(): Map<string, string> {
  const platform = documentedKinds(platformNames);
  const kubernetes = documentedKinds(kubernetesNames);
  const shared = new Map<string, ObjectSchema>();
  const pages = new Map<string, string>();
  for (const [index, kind] of platform.entries()) {
    const upstream = kubernetes[index];
    if (upstream?.kind !== kind.kind) throw new Error(`the profiles differ in their kinds at ${kind.kind}`);
    pages.set(`api/${fileOf(kind.kind)}`, kindPage(kind, upstream));
    for (const one of objectsIn(kind.schema)) if (isShared(one)) shared.set(typeName(one), one);
  }
  pages.set(`api/${sharedPage}`, sharedTypesPage([...shared.values()]));
  pages.set("api.md", indexPage(platform, kubernetes));
  return pages;
}

function documentedKinds(names: Names): DocumentedKind[] {
  const stored = storedResources(names);
  const created = stored.flatMap((owner) =>
    Object.entries(owner.subresources ?? {}).flatMap(([name, one]) =>
      one.type === "create" ? [{ ...one, scope: owner.scope, path: `${pathOf(owner)}/{name}/${name}` }] : [],
    ),
  );
  return [
    ...stored.map((resource) => ({
      ...resource,
      isStored: true,
      path: pathOf(resource),
      verbs: verbsOf(resource),
      resource,
    })),
    ...describedReviews(names).map((review) => ({
      ...review,
      isStored: false,
      path: pathOf(review),
      verbs: verbsOf(review),
    })),
    ...created.map((one) => ({ ...one, isStored: false, verbs: ["create"] })),
  ];
}

const pathOf = ({ group, version, scope, plural }: Definition): string =>
  [
    group === "" ? "/api" : `/apis/${group}`,
    version,
    ...(scope === "Namespaced" ? ["namespaces/{namespace}"] : []),
    plural,
  ].join("/");

const fileOf = (kind: string): string => `${kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.md`;
const groupVersion = ({ group, version }: Pick<GroupVersionKind, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;

function indexPage(platform: readonly DocumentedKind[], kubernetes: readonly DocumentedKind[]): string {
  const rows = ({ areStored }: { readonly areStored: boolean }): string[][] =>
    platform.flatMap((kind, index) =>
      kind.isStored === areStored
        ? [
            [
              `[${kind.kind}](api/${fileOf(kind.kind)})`,
              kind.scope,
              code(groupVersion(kind)),
              code(groupVersion(kubernetes[index] ?? kind)),
              cell(kind.schema.description),
            ],
          ]
        : [],
    );
  const head = ["kind", "scope", "profile `platform`", "profile `kubernetes`", "what it is"];
  return page(
    "# API reference",
    notice,
    "Every kind that the server serves, from the schemas that it works with. `kubectl explain` shows the same text.",
    "A server speaks the names of one profile: `platform` by default, `kubernetes` with `--profile kubernetes`. " +
      "Only the groups and a few names differ; the fields are the same.",
    "## Kinds that are stored",
    table(head, rows({ areStored: true })),
    "## Kinds that are answered and never stored",
    table(head, rows({ areStored: false })),
    "## Types that every group shares",
    `[Metadata and other types](api/${sharedPage}): ObjectMeta, label selectors, references.`,
  );
}

function kindPage(kind: DocumentedKind, upstream: DocumentedKind): string {
  return page(
    `# ${kind.kind}`,
    notice,
    kind.schema.description,
    table(
      ["", "profile `platform`", "profile `kubernetes`"],
      [
        ["apiVersion", code(groupVersion(kind)), code(groupVersion(upstream))],
        ["path", code(kind.path), code(upstream.path)],
      ],
    ),
    facts(kind),
    subresources(kind),
    columns(kind),
    "## Fields",
    typeSections(kind.schema),
  );
}

function facts({ scope, verbs, resource, isStored }: DocumentedKind): string {
  const selectable = resource && [
    "metadata.name",
    ...(scope === "Namespaced" ? ["metadata.namespace"] : []),
    ...Object.keys(resource.selectableFields ?? {}),
  ];
  const lists: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["Verbs", verbs],
    ["Short names", resource?.shortNames],
    ["Categories", resource?.categories],
    ["Field selectors", selectable],
  ];
  return [
    `- Scope: ${scope}${isStored ? "" : "; answered and never stored"}`,
    ...lists.flatMap(([title, words = []]) =>
      words.length === 0 ? [] : [`- ${title}: ${words.map(code).join(", ")}`],
    ),
  ].join("\n");
}

function subresources({ resource }: DocumentedKind): string {
  const all = Object.entries(resource?.subresources ?? {});
  if (resource === undefined || all.length === 0) return "";
  const rows = all.map(([name, one]) => [
    code(`${resource.plural}/${name}`),
    verbsOfSubresource(resource, name).map(code).join(", "),
    one.type === "create" ? `[${one.kind}](${fileOf(one.kind)})` : resource.kind,
  ]);
  return page("## Subresources", table(["subresource", "verbs", "kind"], rows)).trimEnd();
}

function columns({ resource }: DocumentedKind): string {
  if (resource === undefined) return "";
  const rows = resource.columns.map(({ name, type = "string", isWide = false, description }) => [
    name,
    type,
    isWide ? "with `-o wide`" : "always",
    cell(description),
  ]);
  return page("## Table columns", table(["column", "type", "shown", "description"], rows)).trimEnd();
}

const sharedTypesPage = (types: readonly ObjectSchema[]): string =>
  page(
    "# Types that every group shares",
    notice,
    types
      .toSorted((one, other) => (typeName(one) < typeName(other) ? -1 : 1))
      .map((one) => typeSection(one, { isSharedPage: true }))
      .join("\n\n"),
  );

/** A type that belongs to no group: it has a separate page. */
const isShared = (schema: ObjectSchema): boolean => schema.package !== undefined;
const typeName = ({ goType }: ObjectSchema): string => goType.slice(goType.indexOf(".") + 1);

function* objectsIn(schema: Schema): Generator<ObjectSchema> {
  if (schema.type === "array") yield* objectsIn(schema.items);
  else if (schema.type === "map") yield* objectsIn(schema.values);
  else if (schema.type === "object") {
    yield schema;
    for (const field of Object.values(schema.fields)) yield* objectsIn(field.schema);
  }
}

/** The kind's own type first, then each type within it where it is first used. */
function typeSections(root: ObjectSchema): string {
  const types = new Map<string, ObjectSchema>();
  for (const one of objectsIn(root)) {
    if (!isShared(one) && !types.has(typeName(one))) types.set(typeName(one), one);
  }
  return [...types.values()].map((one) => typeSection(one, { isSharedPage: false })).join("\n\n");
}

interface PageOfTypes {
  readonly isSharedPage: boolean;
}

function typeSection(schema: ObjectSchema, { isSharedPage }: PageOfTypes): string {
  const rows = Object.entries(schema.fields).map(([name, field]) => [
    code(name),
    typeText(field.schema, { isSharedPage }),
    field.isRequired === true ? "yes" : "",
    field.default === undefined ? "" : code(JSON.stringify(field.default)),
    cell(field.description),
  ]);
  return page(
    `### ${typeName(schema)}`,
    cell(schema.description),
    table(["field", "type", "required", "default", "description"], rows),
  ).trimEnd();
}

function typeText(schema: Schema, where: PageOfTypes): string {
  if (schema.type === "any") return "any JSON value";
  if (schema.type === "map") return `map of ${typeText(schema.values, where)}`;
  if (schema.type === "array") return `list of ${typeText(schema.items, where)}${listText[schema.list]}`;
  if (schema.type !== "object") return scalarText[schema.type];
  const name = typeName(schema);
  return `[${name}](${isShared(schema) && !where.isSharedPage ? sharedPage : ""}#${name.toLowerCase()})`;
}

const listText = { atomic: "", set: " (a set)", map: " (by key)" } as const;

const scalarText = {
  string: "string",
  boolean: "boolean",
  int32: "integer (32 bits)",
  int64: "integer (64 bits)",
  double: "number",
  bytes: "bytes (base64)",
  time: "time (RFC 3339, seconds)",
  microTime: "time (RFC 3339, microseconds)",
  quantity: "quantity",
  intOrString: "integer or string",
} as const;
