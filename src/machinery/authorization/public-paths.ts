import type { AuthorizerInMemory } from "./authorizer.ts";

/** Lets everyone read certain paths, callers without credentials included. For everything else it has no opinion. */
export function publicPaths(paths: readonly string[]): AuthorizerInMemory {
  const allowed = new Set(paths);
  return (attributes) =>
    attributes.kind === "path" && attributes.verb === "get" && allowed.has(attributes.path)
      ? { decision: "allow", reason: "a public path" }
      : { decision: "noOpinion", reason: "" };
}
