/**
 * All values of a fact that has two fields: an old one for its first value, and a new one for all. A client may know only
 * one of them, so both always say the same. Where they differ, the old one counts (upstream: the conversions of NodeSpec
 * and PodStatus).
 */
export function allValues(first: string = "", all: readonly string[] = []): readonly string[] {
  return first === "" || first === all[0] ? all : [first];
}
