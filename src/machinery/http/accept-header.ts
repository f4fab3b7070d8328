export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const maximumClauses = 64;

/**
 * Parses an Accept header to clauses in order of preference (upstream: goautoneg's `ParseAccept`). Malformed clauses
 * are skipped. Names are compared as sent: upper case is not converted. At most 64 clauses are read.
 */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of header.split(",", maximumClauses)) {
    const [range = "", ...parameters] = part.split(";");
    const [type = "", subtype, ...more] = range.split("/").map((word) => word.trim());
    if (more.length > 0 || (!subtype && type !== "*")) continue;
    clauses.push(withParameters({ type, subtype: subtype || "*" }, parameters));
  }
  return sortByPreference(clauses);
}

function withParameters(
  range: { readonly type: string; readonly subtype: string },
  words: readonly string[],
): AcceptClause {
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const word of words) {
    const [name = "", value, ...more] = word.split("=");
    if (value === undefined || value === "" || more.length > 0) continue;
    if (name.trim() === "q") quality = Number(value) || 0;
    else parameters.set(name.trim(), value.trim());
  }
  return { ...range, quality, parameters };
}

/**
 * goautoneg's order is not a strict order, so the result depends on the sorting algorithm. This is Go's: insertion sort
 * for short slices.
 */
function sortByPreference(clauses: AcceptClause[]): AcceptClause[] {
  for (let end = 1; end < clauses.length; end++) {
    for (let at = end; at > 0; at--) {
      const [before, after] = [clauses[at - 1], clauses[at]];
      if (!before || !after || !isPreferred(after, before)) break;
      clauses[at - 1] = after;
      clauses[at] = before;
    }
  }
  return clauses;
}

const isPreferred = (one: AcceptClause, other: AcceptClause): boolean =>
  one.quality > other.quality ||
  (one.type !== "*" && other.type === "*") ||
  (one.subtype !== "*" && other.subtype === "*");

/**
 * Whether the router may choose a route that produces these types (upstream: go-restful's `matchesAccept`). Types are
 * compared without parameters, and the only wildcard is `*` + `/*`.
 */
export function routeAccepts(header: string, produces: readonly string[]): boolean {
  return header.split(",").some((part) => {
    const end = part.indexOf(";");
    const type = (end < 0 ? part : part.slice(0, end)).trim();
    return type === "*/*" || produces.includes(type);
  });
}
