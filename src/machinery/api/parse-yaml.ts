import { parse } from "yaml";

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
