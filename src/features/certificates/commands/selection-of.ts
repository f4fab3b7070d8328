import { equalFields } from "../../../machinery/api/selectors/field-selector.ts";
import type { ListOptions } from "../../../machinery/client/api-client.ts";

/** The options for listing only objects whose fields have these values. A field without a value is not selected by. */
export function selectionOf(fields: Readonly<Record<string, string | undefined>>): Pick<ListOptions, "fieldSelector"> {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return given.length === 0 ? {} : { fieldSelector: equalFields(Object.fromEntries(given)) };
}
