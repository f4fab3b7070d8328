import { tooLarge } from "../../api/api-error.ts";
import { isJsonObject, memberOf, setMember } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { copyNumberLiterals, maximumJsonDepth, numberLiteralAt, setNumberLiteral } from "../../schema/json-reader.ts";
import { operationFailed } from "./patch-error.ts";

/**
 * The most list items that all operations may move. An insertion into a list, or a removal, moves the following items: without
 * this limit, ten thousand operations could take seconds.
 */
const maximumMovedItems = 20_000_000;

type Container = JsonObject | unknown[];

/** A value. For a number that is not a plain integer, also its literal in the JSON text. */
export interface PatchedValue {
  readonly value: unknown;
  readonly literal?: string | undefined;
}

/**
 * A JSON document that is being changed. The original stays unchanged: a container is copied before its first change
 * and then changed in place. So thousands of operations on one large container copy it only once. Throws a 422 ApiError
 * for a place that does not exist, and a 413 for too much work.
 */
export class PatchedDocument {
  root: unknown;
  /** Containers that this document created and that nothing else refers to. */
  readonly #own = new WeakSet<object>();
  #movedItems = 0;

  constructor(original: unknown) {
    this.root = original;
  }

  /** The value at the pointer. Undefined for a missing member of an object. */
  get(tokens: readonly string[]): PatchedValue {
    let value = this.root;
    let literal: string | undefined;
    for (const token of tokens) {
      literal = isJsonObject(value) ? numberLiteralAt(value, token) : undefined;
      if (Array.isArray(value)) {
        value = value[existingIndex(value, token)];
      } else if (isJsonObject(value)) {
        value = memberOf(value, token);
      } else {
        throw operationFailed();
      }
    }
    return { value, literal };
  }

  add(tokens: readonly string[], added: PatchedValue): void {
    const { container, last } = this.#writable(tokens);
    if (Array.isArray(container)) {
      // The position of a new entry: -1 means after the last one.
      const index = last === "-" ? container.length : parseArrayIndex(last, container.length + 1);
      if (index === undefined || index > container.length) throw operationFailed();
      this.#countMoves(container.length - index);
      container.splice(index, 0, added.value);
    } else {
      setNewMember(container, last, added);
    }
  }

  remove(tokens: readonly string[]): void {
    const { container, last } = this.#writable(tokens);
    if (Array.isArray(container)) {
      const index = existingIndex(container, last);
      this.#countMoves(container.length - index);
      container.splice(index, 1);
      return;
    }
    if (!Object.hasOwn(container, last)) throw operationFailed();
    delete container[last];
    setNumberLiteral(container, last, undefined);
  }

  replace(tokens: readonly string[], replacement: PatchedValue): void {
    const { value } = replacement;
    if (tokens.length === 0) {
      if (typeof value !== "object" || value === null) throw operationFailed();
      this.root = value;
      return;
    }
    const { container, last } = this.#writable(tokens);
    if (Array.isArray(container)) container[existingIndex(container, last)] = value;
    else setNewMember(container, last, replacement);
  }

  /** The document with the members of changed objects sorted, so that faults are found in upstream's order. */
  sorted(): unknown {
    return this.#sorted(this.root);
  }

  #sorted(value: unknown): unknown {
    const isChanged = typeof value === "object" && value !== null && this.#own.has(value);
    if (!isChanged) return value;
    if (Array.isArray(value)) return value.map((item) => this.#sorted(item));
    const sorted: JsonObject = {};
    for (const [key, member] of Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) {
      setMember(sorted, key, this.#sorted(member));
    }
    copyNumberLiterals(value, sorted);
    return sorted;
  }

  #countMoves(items: number): void {
    this.#movedItems += items;
    if (this.#movedItems > maximumMovedItems) {
      throw tooLarge("the operations of the JSON patch move too many items of long lists: send fewer of them");
    }
  }

  /** The container that the last token refers into, ready to be changed. */
  #writable(tokens: readonly string[]): { readonly container: Container; readonly last: string } {
    const last = tokens.at(-1);
    if (last === undefined) throw operationFailed();
    let container = this.#owned(this.root);
    this.root = container;
    for (const token of tokens.slice(0, -1)) {
      const key = Array.isArray(container) ? existingIndex(container, token) : token;
      const child = this.#owned(Array.isArray(container) ? container[Number(key)] : memberOf(container, token));
      if (Array.isArray(container)) container[Number(key)] = child;
      else setMember(container, token, child);
      container = child;
    }
    return { container, last };
  }

  #owned(value: unknown): Container {
    if (!Array.isArray(value) && !isJsonObject(value)) throw operationFailed();
    if (this.#own.has(value)) return value;
    const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
    if (!Array.isArray(value)) copyNumberLiterals(value, copy);
    this.#own.add(copy);
    return copy;
  }
}

// oxlint-disable-next-line max-params -- as setMember
function setNewMember(container: JsonObject, key: string, { value, literal }: PatchedValue): void {
  setMember(container, key, value);
  setNumberLiteral(container, key, literal);
}

function existingIndex(array: readonly unknown[], token: string): number {
  const index = parseArrayIndex(token, array.length);
  if (index === undefined || index >= array.length) throw operationFailed();
  return index;
}

/** The longest pointer. No object has a member with so long a name, or so many nested members. */
const maximumPointerLength = 64 * 1024;

/**
 * Parses a JSON pointer (RFC 6901) to its tokens, with `~1` and `~0` decoded. Like upstream's library, ignores the text before the
 * first slash. Undefined when the pointer has no slash, or is too long.
 */
export function parseJsonPointer(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  const start = pointer.indexOf("/") + 1;
  if (start === 0 || pointer.length > maximumPointerLength) return undefined;
  const tokens = pointer.slice(start).split("/", maximumJsonDepth + 1);
  if (tokens.length > maximumJsonDepth) return undefined;
  return tokens.map((token) => (token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token));
}

/**
 * Parses a token to an array index. As in upstream's library, accepts any integer that Go parses, such as `01` or `+1` (RFC 6901
 * section 4 allows only `1`). A negative index counts from the end: -1 is the last item. Undefined for anything else, and for an index
 * before the first item.
 */
function parseArrayIndex(token: string, length: number): number | undefined {
  if (!/^[+-]?\d+$/.test(token)) return undefined;
  const index = Number(token);
  if (index >= 0) return index;
  return index + length >= 0 ? index + length : undefined;
}
