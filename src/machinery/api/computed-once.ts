/** A function that remembers its results: one for each object, for as long as the object lives. */
export function computedOnce<Key extends object, Value extends object>(
  compute: (key: Key) => Value,
): (key: Key) => Value {
  const results = new WeakMap<Key, Value>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const computed = compute(key);
    results.set(key, computed);
    return computed;
  };
}
