import { parse, YAMLParseError } from "yaml";

/**
 * Parses YAML or JSON with aliases and `<<`, as Kubernetes' programs do. Throws a YAMLParseError for a text that is neither, and an Error
 * for an alias without its anchor, for too many of them, and for one within what it stands for: who reads the value expects an end.
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

/** Why a text is YAML, but holds no one value. Undefined: it is not YAML. Quotes nothing: the text may hold secrets. */
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
