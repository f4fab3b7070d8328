import type { SeededRandom } from "../../reliability/seeded-random.ts";
import { hostileText } from "./hostile-text.ts";

type Container = Record<string, unknown> | unknown[];

/** Numbers at the limits of what readers and fields take. */
export const edgeNumbers = [
  0,
  -0,
  -1,
  1,
  1.5,
  255,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 32 + 1,
  2 ** 53,
  1e19,
  -1e19,
  1e300,
  5e-324,
] as const;

/** Many of the smallest values, seldom very many, to find work that is more than linear. */
const repeatCount = (random: SeededRandom): number =>
  random.next() < 0.97 ? random.pick([2, 3, 10, 101]) : random.pick([1_000, 30_000]);
/** Deeper nesting is written as text: the runtime's own functions cannot hold it. */
const depths = [2, 10, 100, 900] as const;

/** A value of another type than most fields want. */
export function hostileValue(random: SeededRandom): unknown {
  switch (random.integer(0, 10)) {
    case 0:
      return null;
    case 1:
      return random.pick([true, false]);
    case 2:
      return random.pick([...edgeNumbers]);
    case 3:
      return [];
    case 4:
      return {};
    case 5:
      return [null];
    case 6:
      return JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"x"}',
      ) as unknown;
    case 7:
      return Array.from({ length: repeatCount(random) }, () => random.pick<unknown>([{}, null, "", [], 0]));
    case 8:
      return nested(random);
    default:
      return hostileText(random);
  }
}

function nested(random: SeededRandom): unknown {
  let value: unknown = random.pick<unknown>([{}, [], "x"]);
  const isList = random.next() < 0.5;
  for (let depth = random.pick([...depths]); depth > 0; depth--) value = isList ? [value] : { a: value };
  return value;
}

/** The value with one to four changes. Changes the given value itself. */
export function mutateJson(value: unknown, random: SeededRandom): unknown {
  let changed = value;
  for (let changes = random.integer(1, 4); changes > 0; changes--) changed = changeOnce(changed, random);
  return changed;
}

function changeOnce(value: unknown, random: SeededRandom): unknown {
  const place = randomPlace(value, random);
  if (place === undefined) return hostileValue(random);
  const { parent, key } = place;
  const member: unknown = Reflect.get(parent, key);
  switch (random.integer(0, 9)) {
    case 0:
      remove(parent, key);
      break;
    case 1:
      set(parent, key, wrapped(member, random));
      break;
    case 2:
      set(parent, random.pick(["__proto__", "constructor", "toString", "unknown", "metadata", "$patch", ""]), member);
      break;
    case 3:
      if (Array.isArray(parent)) parent.push(structuredClone(member));
      else set(parent, key.toUpperCase(), member);
      break;
    case 4:
      if (Array.isArray(parent) && JSON.stringify(member ?? null).length < 2_000) {
        const count = repeatCount(random);
        for (let index = 0; index < count; index++) parent.push(member);
      } else set(parent, key, hostileValue(random));
      break;
    case 5: {
      const other = randomPlace(value, random);
      if (other !== undefined) set(parent, key, structuredClone(Reflect.get(other.parent, other.key)));
      break;
    }
    case 6:
      if (!Array.isArray(parent)) {
        const count = repeatCount(random);
        for (let index = 0; index < count; index++) set(parent, `k${index}`, random.pick<unknown>(["", {}, "v"]));
      }
      break;
    case 7:
      set(parent, hostileText(random), member);
      break;
    default:
      set(parent, key, hostileValue(random));
  }
  return value;
}

function wrapped(member: unknown, random: SeededRandom): unknown {
  const text = JSON.stringify(member) ?? "";
  return random.pick<unknown>([[member], { x: member }, text, Number(text)]);
}

/** A random place in the value. Deep places are as likely as shallow ones, so that small members are changed too. */
function randomPlace(
  value: unknown,
  random: SeededRandom,
): { readonly parent: Container; readonly key: string } | undefined {
  let parent: Container | undefined;
  let key = "";
  for (let next: unknown = value; isContainer(next); next = Reflect.get(parent, key)) {
    const keys = Object.keys(next);
    if (keys.length === 0 || (parent !== undefined && random.next() < 0.25)) break;
    parent = next;
    key = keys[random.integer(0, keys.length - 1)] ?? "";
  }
  return parent === undefined ? undefined : { parent, key };
}

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;

function remove(parent: Container, key: string): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else Reflect.deleteProperty(parent, key);
}

/** Makes an own member, of `__proto__` too. */
function set(parent: Container, key: string, value: unknown): void {
  if (Array.isArray(parent)) {
    const index = Number(key);
    parent[Number.isInteger(index) && index >= 0 ? Math.min(index, parent.length) : parent.length] = value;
  } else Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
}
