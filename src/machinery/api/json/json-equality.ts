/**
 * Whether two JSON values mean the same to Kubernetes: an absent field, null, an empty list and an empty map are equal
 * (upstream: `equality.Semantic.DeepEqual`). The order of keys does not matter; the order of list items does.
 */
export function isSemanticallyEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (isEmpty(one) || isEmpty(other)) return isEmpty(one) && isEmpty(other);
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSemanticallyEqual(item, other[index]))
    );
  }
  return isSameMap(new Map(Object.entries(one)), new Map(Object.entries(other)));
}

function isSameMap(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  for (const [key, value] of one) if (!isSemanticallyEqual(value, other.get(key))) return false;
  for (const [key, value] of other) if (!one.has(key) && !isEmpty(value)) return false;
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== "object") return false;
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}
