import { maximumShownLength, shortened } from "../api/text/format-value.ts";
import { isJsonObject } from "../api/json/json-object.ts";
import { isRepeatedMember, maximumStrictFaults } from "./json-reader.ts";
import type { MemberPlace } from "./json-reader.ts";

/** The members that the text of a value, or of the values in it, has more than once: in document order, at most 100. */
export function repeatedMembersIn(value: unknown): MemberPlace[] {
  const places: MemberPlace[] = [];
  findRepeated(value, { path: "", places });
  return places;
}

interface Finding {
  readonly path: string;
  readonly places: MemberPlace[];
}

function findRepeated(value: unknown, { path, places }: Finding): void {
  if (typeof value !== "object" || value === null || path.length > maximumShownLength) return;
  for (const [key, member] of Object.entries(value)) {
    if (places.length === maximumStrictFaults) return;
    const place = Array.isArray(value) ? `${path}[${key}]` : shortened(path === "" ? key : `${path}.${key}`);
    if (isJsonObject(value) && isRepeatedMember(value, key)) places.push({ path: place, position: 0 });
    findRepeated(member, { path: place, places });
  }
}
