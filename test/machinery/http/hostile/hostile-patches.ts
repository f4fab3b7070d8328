const pointers = [
  "",
  "/",
  "x",
  "//",
  "/-",
  "/~",
  "/~2",
  "/__proto__",
  "/__proto__/polluted",
  "/constructor/prototype/polluted",
  "/metadata",
  "/metadata/name",
  "/metadata/name/x",
  "/metadata/__proto__/polluted",
  "/metadata/labels",
  "/metadata/labels/__proto__",
  "/metadata/labels/a~1b",
  "/metadata/ownerReferences/-",
  "/metadata/ownerReferences/0",
  "/metadata/managedFields/0/fieldsV1",
  "/metadata/managedFields/99999999999999999999",
  "/kind",
  "/apiVersion",
  "/spec",
  "/status",
  "/rules/0/verbs",
  `/${"a/".repeat(5000)}`,
];

/** Operations at every pointer, and invalid operations. */
export const hostileJsonPatches: readonly unknown[] = [
  ...pointers.flatMap((path) => [
    [{ op: "add", path, value: {} }],
    [{ op: "add", path, value: "x" }],
    [{ op: "replace", path, value: [] }],
    [{ op: "remove", path }],
    [{ op: "test", path, value: null }],
    [{ op: "move", from: path, path: "/metadata/labels" }],
    [{ op: "copy", from: path, path: "/metadata/annotations" }],
    [{ op: "copy", from: "/metadata", path }],
  ]),
  [{}],
  [null],
  [[]],
  ["add"],
  [{ op: "add" }],
  [{ op: 1, path: 2 }],
  [{ op: "__proto__", path: "/metadata" }],
  [{ op: "toString", path: "/metadata", value: 1 }],
  Array.from({ length: 40 }, () => ({ op: "copy", from: "/metadata", path: "/metadata/annotations/x" })),
  Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "x" })),
];

const lists = [
  "metadata.ownerReferences",
  "metadata.finalizers",
  "secrets",
  "status.conditions",
  "spec.containers",
  "rules",
];
const directives: readonly unknown[] = [
  { $patch: "delete" },
  { $patch: "replace" },
  { $patch: "explode" },
  { $patch: null },
  { $patch: {} },
  { $retainKeys: "x" },
  { $retainKeys: ["x"], y: 1 },
  { "$setElementOrder/x": "y" },
  { "$setElementOrder/x": [null, {}, "z"] },
  { "$deleteFromPrimitiveList/x": {} },
  { "$deleteFromPrimitiveList/x": [{}] },
  { $setElementOrder: [] },
  { $deleteFromPrimitiveList: [] },
];
const entries: readonly unknown[] = [
  [{}],
  [null],
  ["x"],
  [["x"]],
  [{ $patch: "delete" }],
  [{ $patch: "replace" }],
  [{ $patch: "merge", name: "x" }],
  [{ $patch: "delete", name: {}, type: [], uid: null }],
  [{ name: null, type: null, uid: null }],
  [{ name: { a: 1 } }, "x", 1, null],
  "x",
  { $patch: "delete" },
];

function nested(path: string, value: unknown): unknown {
  return path.split(".").reduceRight((inner, key) => ({ [key]: inner }), value);
}

function ordered(path: string, order: unknown): unknown {
  const names = path.split(".");
  const last = names.pop() ?? "";
  return nested([...names, `$setElementOrder/${last}`].join("."), order);
}

/** Merge patches, with the directives of strategic ones in all places. */
export const hostileMergePatches: readonly string[] = [
  ...directives.flatMap((one) => [one, { metadata: one }, { spec: one }, { status: one }]),
  ...lists.flatMap((path) => [
    ...entries.map((value) => nested(path, value)),
    ...[[null], [{}], ["x"], [{ name: "a" }, { name: "a" }], "x", {}].map((order) => ordered(path, order)),
  ]),
]
  .map((value) => JSON.stringify(value))
  .concat('{"__proto__":{"polluted":true},"metadata":{"__proto__":{"polluted":true},"constructor":null}}');
