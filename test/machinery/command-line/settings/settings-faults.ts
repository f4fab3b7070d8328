import { InvalidSettings } from "../../../../src/machinery/command-line/settings/fields.ts";

/** The faults that the parser of a settings file reports; none when it accepts the file. Rethrows errors that no parser may throw. */
export function settingsFaults(parse: () => unknown): readonly string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (error instanceof InvalidSettings) return error.faults;
    if (error instanceof Error && /^it (?:is not YAML: |holds several documents|has a field twice)/.test(error.message))
      return [error.message];
    throw error;
  }
}
