import { parse, YAMLParseError } from "yaml";

/**
 * Parses YAML or JSON with aliases and `<<`, as Kubernetes' programs do. Throws a YAMLParseError for a text that is neither. Throws an
 * Error for an alias without its anchor, for too many aliases, and for an alias within the value that it stands for, because no reader of
 * the value expects a cycle.
 */
export function parseYaml(text: string): unknown {
  const parsed: unknown = parse(text, { merge: true, logLevel: "error" });
  try {
    JSON.stringify(parsed);
  } catch (cause) {
    throw new Error("an alias is within what it stands for; write it out", { cause });
  }
  return parsed;
}

/**
 * Says why a YAML text does not hold exactly one value. Undefined for any other error, such as of a text that is not YAML. Quotes nothing,
 * because the text may hold secrets.
 */
export function yamlContentFault(error: unknown): string | undefined {
  const code = error instanceof YAMLParseError ? error.code : undefined;
  if (code === "MULTIPLE_DOCS") return `holds several documents, with --- between them${yamlPlace(error)}; leave one`;
  if (code === "DUPLICATE_KEY") return `has a field twice${yamlPlace(error)}; remove one`;
  return undefined;
}

/** ` (line 3)`, or "" when the error names no line. */
export function yamlPlace(error: unknown): string {
  const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
  return line === undefined ? "" : ` (line ${line})`;
}
