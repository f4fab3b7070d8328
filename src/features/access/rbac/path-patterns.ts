/** Whether a pattern of `nonResourceURLs` covers a path. A `*` at the end matches any rest. */
export const matchesPath = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(withoutStars(pattern)));

/** Many patterns of paths. Finding one that covers a path takes logarithmic time. */
export class PathPatterns {
  readonly #exact = new Set<string>();
  readonly #added: string[] = [];
  /** Sorted; no entry is a prefix of another. Undefined until first used. */
  #prefixes: string[] | undefined;

  add(pattern: string): void {
    this.#exact.add(pattern);
    if (!pattern.endsWith("*")) return;
    this.#added.push(withoutStars(pattern));
    this.#prefixes = undefined;
  }

  covers(path: string): boolean {
    if (this.#exact.has(path)) return true;
    this.#prefixes ??= shortest(this.#added);
    // Between a prefix and the path, only texts that start with this prefix are sorted, and no other entry starts with it.
    const before = this.#prefixes[lastNotAbove(this.#prefixes, path)];
    return before !== undefined && path.startsWith(before);
  }
}

/** Removes all stars at the end. A loop, because a regular expression would take quadratic time on a text of stars. */
function withoutStars(pattern: string): string {
  let end = pattern.length;
  while (pattern[end - 1] === "*") end -= 1;
  return pattern.slice(0, end);
}

function shortest(prefixes: readonly string[]): string[] {
  const kept: string[] = [];
  for (const prefix of prefixes.toSorted()) {
    const last = kept.at(-1);
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix);
  }
  return kept;
}

function lastNotAbove(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? "") <= text) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
