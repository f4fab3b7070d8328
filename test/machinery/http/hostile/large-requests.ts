import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import type { ResourceDefinition } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import { storedResources } from "../../../../src/server/served-kinds.ts";
import type { Schema } from "../../../../src/machinery/schema/schema.ts";
import { ProtobufWriter, bytesType } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { compileProtobuf } from "../../../../src/machinery/schema/protobuf/protobuf.ts";
import { maximumValues } from "../../../../src/machinery/schema/value-limit.ts";
import type { HostileRequest } from "./hostile-scene.ts";
import { collectionOf, dryRunPatch, sampleTargetsOf } from "./hostile-targets.ts";
import { withValueAt } from "./hostile-values.ts";
import { sampleObject, sampleReviews } from "./sample-objects.ts";

/** A request with a body of the maximum size, made of the smallest possible parts. */
export interface LargeRequest extends HostileRequest {
  /** What it tries: kind, subresource, place, content and format. */
  readonly label: string;
  readonly body: string | Buffer;
}

export interface LargeRequestOptions {
  /** About the size of the bodies. */
  readonly bytes: number;
  /** Only each n-th place in a kind's schema gets each content. */
  readonly stride: number;
}

interface Place {
  readonly path: readonly string[];
  readonly schema: Schema;
}

/** Every list, map, free value and string of a schema, down to `depth`. */
function* placesOf(schema: Schema, depth: number, path: readonly string[] = []): Generator<Place> {
  if (depth === 0) return;
  if (path.length > 0 && (schema.type !== "object" || path.length === 1)) yield { path, schema };
  if (schema.type === "object") {
    for (const [name, field] of Object.entries(schema.fields))
      yield* placesOf(field.schema, depth - 1, [...path, name]);
  } else if (schema.type === "array") yield* placesOf(schema.items, depth - 1, [...path, "0"]);
  else if (schema.type === "map") yield* placesOf(schema.values, depth - 1, [...path, "k"]);
}

type Content = readonly [label: string, make: (bytes: number) => unknown];

/** As many of an item as the bytes allow, and the bound on values. */
function countOf(item: unknown, bytes: number): number {
  const text = JSON.stringify(item);
  const values = 1 + (text.match(/[,{[]/g) ?? []).length;
  return Math.floor(Math.min(bytes / (text.length + 1), (maximumValues - 200) / values));
}
const repeated =
  (item: unknown) =>
  (bytes: number): unknown[] =>
    Array.from({ length: countOf(item, bytes) }, () => item);
const distinct =
  (make: (index: number) => unknown) =>
  (bytes: number): unknown[] =>
    Array.from({ length: countOf(make(99_999), bytes) }, (_, index) => make(index));
const keys =
  (value: unknown, key: (index: number) => string) =>
  (bytes: number): object => {
    const length = Math.min(countOf(value, bytes), bytes / (key(99_999).length + JSON.stringify(value).length + 4));
    return Object.fromEntries(Array.from({ length }, (_, index) => [key(index), value]));
  };
const deep =
  (open: string, close: string) =>
  (bytes: number): unknown =>
    JSON.parse(open.repeat(Math.min(900, bytes / 2)) + "0" + close.repeat(Math.min(900, bytes / 2)));

const unknownMembers: Content = ["unknown members", keys(0, (index) => `u${index}`)];

function contentsFor(schema: Schema): readonly Content[] {
  if (schema.type === "array") {
    const { items } = schema;
    if (items.type !== "object") {
      return [
        ["empty strings", repeated("")],
        ["equal strings", repeated("a")],
        ["distinct strings", distinct((index) => `a${index}`)],
        ["bad strings", distinct((index) => `\u0001 ${index}`)],
        ["nulls", repeated(null)],
      ];
    }
    const names = Object.entries(items.fields).flatMap(([name, field]) =>
      field.schema.type === "string" ? [name] : [],
    );
    const keyed = schema.mapKeys ?? names.slice(0, 2);
    const item = (index: number): object => Object.fromEntries(keyed.map((key) => [key, fitting(items, key, index)]));
    return [
      ["empty objects", repeated({})],
      ["objects with keys", distinct(item)],
      ["equal objects", repeated(item(1))],
      ["objects with unknown members", repeated({ x: 0 })],
      ["nulls", repeated(null)],
    ];
  }
  if (schema.type === "map") {
    const value = schema.values.type === "array" ? ["a"] : schema.values.type === "object" ? {} : "";
    return [
      ["keys", keys(value, (index) => `k${index}`)],
      ["bad keys", keys(value, (index) => ` \u0001${index}`)],
      ["a long key", (bytes) => ({ ["k ".repeat(bytes / 2)]: value })],
    ];
  }
  if (schema.type === "any") {
    return [
      ["keys", keys({}, (index) => `f:k${index}`)],
      ["depth", deep('{"f:a":', "}")],
    ];
  }
  if (schema.type === "object")
    return [unknownMembers, ["depth", deep('{"a":', "}")], ["lists in lists", deep("[", "]")]];
  if (schema.type === "string" || schema.type === "bytes" || schema.type === "quantity") {
    return [
      ["a long string", (bytes) => "a".repeat(bytes)],
      ["a string of controls", (bytes) => "\u0001".repeat(bytes / 6)],
      ["dots and dashes", (bytes) => "a.-".repeat(bytes / 3)],
      ["slashes", (bytes) => "/".repeat(bytes)],
    ];
  }
  return [];
}

function fitting({ fields }: Extract<Schema, { readonly type: "object" }>, key: string, index: number): unknown {
  const type = fields[key]?.schema.type;
  return type === "int32" || type === "int64" ? index : `a${index}`;
}

const yamlBytes = 28_000;

/** Hostile requests for every kind, subresource and review, of every format and patch type; none changes anything. */
export function* largeRequests(options: LargeRequestOptions): Generator<LargeRequest> {
  for (const definition of storedResources(platformNames)) yield* requestsForKind(definition, options);
  for (const { target, review } of sampleReviews) yield* requestsForReview(target, review, options);
}

function* requestsForKind(
  definition: ResourceDefinition,
  { bytes, stride }: LargeRequestOptions,
): Generator<LargeRequest> {
  const { kind, schema } = definition;
  const targets = sampleTargetsOf(definition);
  const [object] = targets;
  // All kinds have the same metadata, so only one of them tries every place in it.
  const places = [...placesOf(schema, 8)].filter(
    ({ path }) => path[0] !== "metadata" || kind === "ConfigMap" || kind === "Role",
  );
  let turn = 0;
  for (const { path, schema: place } of places) {
    for (const [what, make] of contentsFor(place)) {
      if (turn++ % stride !== 0) continue;
      const label = `${kind} ${path.join(".")}: ${what}`;
      const large = make(bytes);
      const created = withValueAt(sampleObject(definition, "other"), path, large) as ApiObject;
      const target = targets[turn % targets.length] ?? object;
      const updated = JSON.stringify(withValueAt(sampleObject(definition, "sample"), path, large));
      const partial = withValueAt({}, path, large);
      const applied = JSON.stringify(
        withValueAt({ kind, apiVersion: created.apiVersion, metadata: { name: "sample" } }, path, large),
      );
      const post = { method: "POST", target: `${collectionOf(definition)}?dryRun=All&fieldValidation=Strict` };
      yield { label: `${label}, create`, ...post, body: JSON.stringify(created) };
      yield { label: `${label}, update`, method: "PUT", target: `${target}?dryRun=All`, body: updated };
      for (const type of ["merge", "strategic", "apply"] as const) {
        const body = type === "apply" ? applied : JSON.stringify(partial);
        yield { label: `${label}, ${type}`, ...dryRunPatch(target, type, body) };
      }
      const value = path.length > 2 ? withValueAt({}, path.slice(2), large) : large;
      const operations = JSON.stringify([{ op: "add", path: `/${path.slice(0, 2).join("/")}`, value }]);
      yield { label: `${label}, json patch`, ...dryRunPatch(target, "json", operations) };
      const small = withValueAt(sampleObject(definition, "other"), path, make(Math.min(bytes, yamlBytes)));
      // The comment prevents that it is parsed as JSON.
      const yaml = `# yaml\n${JSON.stringify(small)}`;
      yield { label: `${label}, yaml`, ...post, headers: { "content-type": "application/yaml" }, body: yaml };
      const protobuf = protobufOf(schema, created);
      if (protobuf !== undefined) {
        const headers = {
          "content-type": "application/vnd.kubernetes.protobuf",
          accept: "application/vnd.kubernetes.protobuf",
        };
        yield { label: `${label}, protobuf`, ...post, headers, body: protobuf };
      }
    }
  }
  if (kind === "ConfigMap") yield* manyOperations(definition, object, bytes);
}

/** The message of an object that may not fit its schema; undefined for what cannot be written. */
function protobufOf(schema: ResourceDefinition["schema"], object: ApiObject): Buffer | undefined {
  try {
    const raw = compileProtobuf(schema).encode(object);
    const writer = new ProtobufWriter();
    writer.bytes(raw);
    writer.tag(2, bytesType);
    return Buffer.concat([Buffer.from("k8s\0", "latin1"), writer.finish()]);
  } catch {
    return undefined;
  }
}

/** JSON patches of as many operations as there may be, on a list as long as there may be. */
function* manyOperations({ kind }: ResourceDefinition, target: string, bytes: number): Generator<LargeRequest> {
  const finalizers = { op: "add", path: "/metadata/finalizers", value: repeated("")(bytes / 2).slice(0, 9_000) };
  const labels = { op: "add", path: "/metadata/labels", value: keys("", (index) => `k${index}`)(100_000) };
  const times = 10_000 - 1;
  const each = (make: (index: number) => object): object[] => Array.from({ length: times }, (_, index) => make(index));
  const [list, map] = ["/metadata/finalizers", "/metadata/labels"];
  const operations: Readonly<Record<string, readonly object[]>> = {
    inserts: [finalizers, ...each(() => ({ op: "add", path: `${list}/0`, value: "" }))],
    removals: [finalizers, ...each(() => ({ op: "remove", path: `${list}/0` }))],
    tests: [labels, ...each(() => ({ op: "test", path: `${map}/k1`, value: "" }))],
    copies: [labels, ...each((index) => ({ op: "copy", from: map, path: `/x${index}` }))],
    moves: [labels, ...each((index) => ({ op: "move", from: `${map}/k${index}`, path: `${map}/x${index}` }))],
  };
  for (const [what, list] of Object.entries(operations)) {
    yield { label: `${kind}: json patch of many ${what}`, ...dryRunPatch(target, "json", JSON.stringify(list)) };
  }
}

function* requestsForReview(
  target: string,
  review: ApiObject,
  { bytes, stride }: LargeRequestOptions,
): Generator<LargeRequest> {
  let turn = 0;
  for (const size of [bytes, 250_000]) {
    for (const path of pathsOfSample(review)) {
      for (const [what, make] of reviewContents) {
        if (turn++ % stride !== 0) continue;
        const body = JSON.stringify(withValueAt(review, path, make(Math.min(size, bytes))));
        const label = `${review.kind} ${path.join(".")}: ${what}, ${size}`;
        yield { label, method: "POST", target, body };
        const headers = { accept: "application/yaml" };
        yield { label: `${label}, answered in yaml`, method: "POST", target, body, headers };
      }
    }
  }
}

const reviewContents: readonly Content[] = [
  ["empty objects", repeated({})],
  ["empty strings", repeated("")],
  ["distinct strings", distinct((index) => `a${index}`)],
  ["requirements", distinct((index) => ({ key: `a${index}`, operator: "In", values: ["a"] }))],
  ["keys with lists", keys(["a"], (index) => `k${index}`)],
  ["keys", keys("a", (index) => `k${index}`)],
  ["a long string", (bytes) => "a".repeat(bytes)],
  ["dots", (bytes) => "e30.".repeat(bytes / 4)],
  ["a label selector", (bytes) => "a=b,".repeat(bytes / 4)],
];

function* pathsOfSample(value: unknown): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [name, member] of Object.entries(value)) {
    yield [name];
    for (const rest of pathsOfSample(member)) yield [name, ...rest];
  }
}
