import type { ResourceDefinition } from "../../../../src/machinery/registry/definition/resource-definition.ts";

/** Path segments, as they are sent. */
export const hostileNames: readonly string[] = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  ".",
  "..",
  "%2e%2e",
  "%2E%2E%2Fsecrets",
  "a%2Fb",
  "%2F",
  "%00",
  "a%00b",
  "%ff",
  "%c3%28",
  "%zz",
  "%",
  "%2",
  "%25",
  "a%20b",
  "%20",
  "%F0%9F%98%80",
  "%ED%A0%80",
  "A",
  "-",
  "_",
  "*",
  "~1",
  "{name}",
  "$(x)",
  "a:b",
  "a;b",
  "a@b",
  "status",
  "namespaces",
  "watch",
  "0",
  "null",
  "x".repeat(254),
  "x".repeat(9000),
  "%61".repeat(3000),
];

const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const values: readonly string[] = [
  "",
  "-1",
  "0",
  "1",
  "1.5",
  "1e3",
  "abc",
  "true",
  "9223372036854775807",
  "9223372036854775808",
  "99999999999999999999999999",
  "NaN",
  "%00",
  "%ff",
  "%zz",
  "%F0%9F%98%80",
  "__proto__",
  "constructor",
  "x".repeat(5000),
];
const parameters = [
  "limit",
  "continue",
  "resourceVersion",
  "resourceVersionMatch",
  "timeoutSeconds",
  "sendInitialEvents",
  "allowWatchBookmarks",
  "labelSelector",
  "fieldSelector",
  "includeObject",
  "dryRun",
  "fieldManager",
  "fieldValidation",
  "force",
  "propagationPolicy",
  "gracePeriodSeconds",
  "orphanDependents",
  "uid",
  "pretty",
  "watch",
  "timeout",
  "ignoreStoreReadErrorWithClusterBreakingPotential",
];
const selectors = [
  "a in (",
  "a in (b",
  "a in ()",
  "!",
  "!!a",
  ",",
  ",,",
  "a,,b",
  "=",
  "==",
  "a==",
  "a=b=c",
  "a!=b!=c",
  "a>1",
  "a<x",
  "(a)",
  "a notin",
  "a in b",
  "a in (b,b,b)",
  "a=b,a=c",
  "/",
  "a/b/c=d",
  "metadata.name=x,metadata.name=y",
  "metadata.name==\\",
  "metadata.name=a\\,b",
  "__proto__=x",
  "constructor",
  "metadata.name",
  "spec.signerName!=",
  "status.phase in (a)",
  `a in (${"x,".repeat(20_000)}x)`,
  "a=b,".repeat(5000),
  "(".repeat(5000),
];

/** Queries, as they are sent. */
export const hostileQueries: readonly string[] = [
  ...parameters.flatMap((name, index) =>
    values.filter((_, at) => (at + index) % 3 === 0).map((value) => `${name}=${value}`),
  ),
  ...selectors.flatMap((one) => [
    `labelSelector=${encodeURIComponent(one)}`,
    `fieldSelector=${encodeURIComponent(one)}`,
  ]),
  ...[
    {},
    [],
    null,
    "x",
    { v: "meta.k8s.io/v1" },
    { v: "meta.k8s.io/v1", rv: "x", start: "y" },
    { v: "meta.k8s.io/v1", rv: 1, start: "../../x" },
    { v: "meta.k8s.io/v1", rv: 1, start: "\u0000" },
    { v: "meta.k8s.io/v1", rv: -1, start: "hostile/zzz" },
    { v: "meta.k8s.io/v1", rv: 1e300, start: "a" },
    { v: "meta.k8s.io/v1", rv: 5, start: "/" },
  ].map((value) => `limit=1&continue=${token(value)}`),
  "continue=////&limit=1",
  "resourceVersion=0&resourceVersionMatch=Exact",
  "resourceVersion=1&resourceVersionMatch=Exact",
  "resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=1",
  "resourceVersionMatch=Exact",
  "sendInitialEvents=true",
  "dryRun=All&dryRun=All&dryRun=None",
  "limit=1&limit=x",
  "&&&",
  "=",
  "=x",
  "?",
  "a;b;c",
  "%",
  "%=%",
  "__proto__=x&constructor=y&toString=z",
  "x=y&".repeat(3000),
];

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** A patch that changes nothing. The target may have a query. */
export const dryRunPatch = <Body extends string | Buffer>(
  target: string,
  type: keyof typeof patchTypes,
  body: Body,
) => ({
  method: "PATCH",
  target: `${target}${target.includes("?") ? "&" : "?"}dryRun=All${type === "apply" ? "&fieldManager=m&force=true" : ""}`,
  headers: { "content-type": patchTypes[type] },
  body,
});

export const groupPath = ({ group, version }: ResourceDefinition): string =>
  `${group === "" ? "/api" : `/apis/${group}`}/${version}`;
export const collectionOf = (definition: ResourceDefinition): string =>
  `${groupPath(definition)}${definition.scope === "Namespaced" ? "/namespaces/hostile" : ""}/${definition.plural}`;
/** The object `sample` of a kind, and its subresources. */
export function sampleTargetsOf(definition: ResourceDefinition): [object: string, ...subresources: string[]] {
  const object = `${collectionOf(definition)}/sample`;
  return [object, ...Object.keys(definition.subresources ?? {}).map((name) => `${object}/${name}`)];
}
