/**
 * What there is to know of the fields of a type, for each field by its name:
 * `number type presence [required] [default=value]`. The types are named by package: `core/v1.Taint`.
 */
export type Facts = ReadonlyMap<string, TypeFacts>;
export type TypeFacts = ReadonlyMap<string, string>;

/** Apply treats the whole type as one value: it stands among the fields. */
export const atomicStruct = "(atomic)";

/** The facts as text, a line for a field, after a first line that says where they are from. */
export function encodeFacts(facts: Facts, source: string): string {
  const types = [...facts].sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = types.flatMap(([id, fields]) => [
    id,
    ...[...fields].map(([name, fact]) => `  ${name} ${fact}`.trimEnd()),
  ]);
  return `# ${source}\n${lines.join("\n")}\n`;
}

export function decodeFacts(text: string): Facts {
  const facts = new Map<string, Map<string, string>>();
  let fields = new Map<string, string>();
  for (const line of text.split("\n").slice(1, -1)) {
    const [, name, fact = ""] = /^ {2}(\S+) ?(.*)$/.exec(line) ?? [];
    if (name === undefined) facts.set(line, (fields = new Map()));
    else fields.set(name, fact);
  }
  return facts;
}

/** Each type or field in which the facts differ, with what either says. A default that only we have is no difference. */
export function differences(upstream: Facts, ours: Facts): Map<string, string> {
  const found = new Map<string, string>();
  for (const id of new Set([...upstream.keys(), ...ours.keys()])) {
    const [theirFields, ourFields] = [upstream.get(id), ours.get(id)];
    if (theirFields === undefined || ourFields === undefined) {
      found.set(id, theirFields === undefined ? "only here" : "only upstream");
      continue;
    }
    for (const name of new Set([...theirFields.keys(), ...ourFields.keys()])) {
      const their = theirFields.get(name);
      // Most defaults of upstream are code, which the API modules do not have.
      const our =
        their?.includes(" default=") === true ? ourFields.get(name) : ourFields.get(name)?.replace(/ default=.*/, "");
      if (their !== our) found.set(`${id} ${name}`, `upstream: ${their ?? "no field"}; here: ${our ?? "no field"}`);
    }
  }
  return found;
}
