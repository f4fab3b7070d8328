/**
 * The values of a list field, such as `podIPs`, and of the older field for its first value, such as `podIP`. A client may know only one of
 * the two fields, so both always agree. If they differ, the older field counts (upstream: the conversions of NodeSpec and PodStatus).
 */
export function valuesOfBothFields(first: string = "", list: readonly string[] = []): readonly string[] {
  return first === "" || first === list[0] ? list : [first];
}
