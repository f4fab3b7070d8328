const longestName = 100;

/**
 * ` (did you mean secure-port?)` after an unknown name, or "" when no known name is similar. A similar name differs only in case and
 * separators, or by at most two typing errors: a letter added, missing, wrong, or swapped with its neighbour.
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  if (name.length > longestName) return "";
  const wanted = lettersOf(name);
  const allowed = wanted.length < 5 ? 1 : 2;
  const [nearest] = Array.from(known, (one) => ({ one, slips: slipsBetween(wanted, lettersOf(one)) }))
    .filter(({ slips }) => slips <= allowed)
    .toSorted((one, other) => one.slips - other.slips);
  return nearest === undefined ? "" : ` (did you mean ${nearest.one}?)`;
}

/** `secureport` of `secure-port`, `secure_port` and `securePort`. */
const lettersOf = (name: string): string => name.toLowerCase().replace(/[-_ ]/g, "");

/** The Damerau-Levenshtein distance, in which no letter is changed twice (optimal string alignment). */
function slipsBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const now = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      now[column] = Math.min(
        (last[column] ?? 0) + 1,
        (now[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, now];
  }
  return last[to.length] ?? 0;
}
