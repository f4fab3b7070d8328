import type { FieldsV1 } from "../../api/object-meta.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import { canonicalElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";

/**
 * A set of field paths, encoded as FieldsV1: nested objects from path element to the paths below it. A path is a member
 * when its object is empty or contains `.`. Sets are immutable; results share parts with their inputs. At the root, {}
 * is the empty set: no manager owns a whole object.
 */
export type FieldSet = FieldsV1;

export const emptySet: FieldSet = Object.freeze({});

const ownMark = ".";

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** A new, mutable node whose path is a member, for a set that gets more paths below it. */
export const newMember = (): Record<PathElement, FieldSet> => ({ [ownMark]: emptySet });

/** Whether the path of this node is itself a member. */
const isMember = (node: FieldSet): boolean => ownMark in node || isEmpty(node);

/** Nodes that are known to have elements, but no mark. */
const knownNoMembers = new WeakSet<FieldSet>();

/**
 * As `isMember`, for a node that is compared with many others. It remembers the answer, because V8 lists all of an object's members to
 * find out that it is not empty.
 */
function isMemberForMany(node: FieldSet): boolean {
  if (knownNoMembers.has(node)) return false;
  if (isMember(node)) return true;
  knownNoMembers.add(node);
  return false;
}

/** A node whose path is not a member. Undefined when there are no paths below it either. */
const withoutMember = (children: FieldSet): FieldSet | undefined => (isEmpty(children) ? undefined : children);

/** The same node, with its own path as a member. */
export const withMember = (node: FieldSet | undefined): FieldSet =>
  node === undefined ? emptySet : isMember(node) ? node : { [ownMark]: {}, ...node };

export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmpty(left)) return right;
  return isEmpty(right) ? left : unionOfNodes(left, right);
}

/** The union of any number of sets. Joins sets in pairs, so that each path is copied only a few times, not once for each set. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 1) return sets[0] ?? emptySet;
  const middle = Math.ceil(sets.length / 2);
  return union(unionOfAll(sets.slice(0, middle)), unionOfAll(sets.slice(middle)));
}

function unionOfNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  if (isEmpty(right)) return withMember(left);
  if (isEmpty(left)) return withMember(right);
  const nodes: FieldSet = { ...left };
  for (const element in right) {
    const mine = nodes[element];
    const theirs = right[element] ?? emptySet;
    nodes[element] = mine === undefined ? theirs : unionOfNodes(mine, theirs);
  }
  return nodes;
}

/** The paths that are members of both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmpty(left) || isEmpty(right)) return emptySet;
  return intersectionOfNodes(left, right) ?? emptySet;
}

function intersectionOfNodes(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const children: FieldSet = {};
  for (const element in left) {
    const [mine, theirs] = [left[element], right[element]];
    if (element === ownMark || mine === undefined || theirs === undefined) continue;
    const both = intersectionOfNodes(mine, theirs);
    if (both !== undefined) children[element] = both;
  }
  return isMember(left) && isMemberForMany(right) ? withMember(children) : withoutMember(children);
}

/** The members of `left` that are not members of `right`. Members below a member of `right` stay. */
export const difference = differenceThat({ isRecursive: false });

/** The members of `left` that are neither members of `right` nor below a member of `right`. */
export const recursiveDifference = differenceThat({ isRecursive: true });

function differenceThat({ isRecursive }: { readonly isRecursive: boolean }) {
  const ofNodes = (left: FieldSet, right: FieldSet): FieldSet | undefined => {
    const children: FieldSet = {};
    for (const element in left) {
      const mine = left[element];
      if (element === ownMark || mine === undefined) continue;
      const theirs = right[element];
      if (isRecursive && theirs !== undefined && isMemberForMany(theirs)) continue;
      const rest = theirs === undefined ? mine : ofNodes(mine, theirs);
      if (rest !== undefined) children[element] = rest;
    }
    return isMember(left) && !isMemberForMany(right) ? withMember(children) : withoutMember(children);
  };
  return (left: FieldSet, right: FieldSet): FieldSet =>
    isEmpty(left) || isEmpty(right) ? left : (ofNodes(left, right) ?? emptySet);
}

/** The node of an element of the set: whether its path is a member, and the set below it. Undefined: the set does not have the element. */
export function below(
  set: FieldSet,
  element: PathElement,
): { readonly isMember: boolean; readonly children: FieldSet } | undefined {
  const node = set[element];
  if (node === undefined) return undefined;
  if (!(ownMark in node)) return { isMember: isEmpty(node), children: node };
  const { [ownMark]: _, ...children } = node;
  return { isMember: true, children };
}

export const setOfPath = (path: readonly PathElement[]): FieldSet =>
  path.reduceRight<FieldSet>((node, element) => ({ [element]: node }), {});

/** The number of members of a set, which is the number of paths that `pathsOf` yields. */
export function memberCount(set: FieldSet): number {
  let count = 0;
  for (const element in set) {
    const node = set[element];
    if (element !== ownMark && node !== undefined) count += (isMember(node) ? 1 : 0) + memberCount(node);
  }
  return count;
}

/** The path of every member. At each level, first the members and then the paths below, both sorted. */
export function* pathsOf(set: FieldSet, prefix: readonly PathElement[] = []): Generator<readonly PathElement[]> {
  const elements = Object.keys(set)
    .filter((element) => element !== ownMark)
    .sort();
  for (const element of elements) if (isMember(set[element] ?? {})) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set[element] ?? {}, [...prefix, element]);
}

/** The set with its elements sorted, as it is stored. Parts that are sorted already are not copied. */
export function sorted(set: FieldSet): FieldSet {
  if (isEmpty(set)) return set;
  const elements = Object.keys(set);
  const isInOrder = elements.every((element, at) => at === 0 || (elements[at - 1] ?? "") < element);
  let copy: FieldSet | undefined = isInOrder ? undefined : {};
  for (const element of isInOrder ? elements : elements.sort()) {
    const unsorted = set[element] ?? {};
    const below = sorted(unsorted);
    if (below !== unsorted) copy ??= { ...set };
    if (copy !== undefined) copy[element] = below;
  }
  return copy ?? set;
}

/**
 * The longest path of a set, in elements. No kind has fields as deep as this. YAML and indented JSON repeat the indent in each line, so
 * deeper sets would make answers that are a hundred times as long as the request.
 */
const maximumPathElements = 64;

/**
 * Decodes a set that a client wrote: converts elements and members to their canonical form, and skips elements of unknown types. Throws
 * SyntaxError, also for a path that is longer than any field path of a kind.
 */
export function decodeFieldSet(fields: unknown): FieldSet {
  const { [ownMark]: _, ...set } = decodeNode(fields, maximumPathElements);
  return set;
}

function decodeNode(fields: unknown, levels: number): FieldSet {
  if (!isJsonObject(fields) || levels === 0) throw new SyntaxError("a field set must be nested objects");
  const node: FieldSet = {};
  for (const [element, below] of Object.entries(fields)) {
    const canonical = element === ownMark ? ownMark : canonicalElement(element);
    if (canonical === undefined) continue;
    const inner = decodeNode(below, levels - 1);
    const known = node[canonical];
    node[canonical] = known === undefined ? inner : unionOfNodes(known, inner);
  }
  return ownMark in node && Object.keys(node).length === 1 ? {} : node;
}
