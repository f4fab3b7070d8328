import { parseYaml, yamlContentFault } from "../../api/json/parse-yaml.ts";

/**
 * Parses a file of settings in YAML or JSON, with aliases and `<<` as Kubernetes' programs read them. Throws an Error of one line, with the
 * place of the fault.
 */
export function parseYamlSettings(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    const fault = yamlContentFault(cause);
    if (fault !== undefined) throw new Error(`it ${fault}`, { cause });
    // The lines after the first one show the text around the place.
    const [reason = ""] = cause instanceof Error ? cause.message.split("\n", 1) : [];
    throw new Error(`it is not YAML: ${reason.replace(/:$/, "")}`, { cause });
  }
}
