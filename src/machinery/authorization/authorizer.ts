import type { AuthorizationAttributes, Decision } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";

/** One authorizer. Never throws. A promise only where something outside this process must be asked. */
export type Authorizer = (attributes: AuthorizationAttributes) => MaybePromise<Decision>;

/** An authorizer that has all it needs in memory. */
export type AuthorizerInMemory = (attributes: AuthorizationAttributes) => Decision;

/** Lets everyone do everything: for development only. */
export const alwaysAllow: AuthorizerInMemory = () => ({ decision: "allow", reason: "" });

/** Allows nothing. Members of `system:masters` are allowed everything before it is asked. */
export const alwaysDeny: AuthorizerInMemory = () => ({ decision: "noOpinion", reason: "Everything is forbidden." });

/** Lets everyone read what is below a path, and post to it, callers without credentials included. */
export const publicFolder =
  (folder: string): AuthorizerInMemory =>
  (attributes) =>
    attributes.kind === "path" &&
    ["get", "head", "post"].includes(attributes.verb) &&
    attributes.path.startsWith(folder)
      ? { decision: "allow", reason: "a public path" }
      : { decision: "noOpinion", reason: "" };

/** Lets everyone read certain paths, callers without credentials included. For everything else it has no opinion. */
export function publicPaths(paths: readonly string[]): AuthorizerInMemory {
  const allowed = new Set(paths);
  return (attributes) =>
    attributes.kind === "path" && attributes.verb === "get" && allowed.has(attributes.path)
      ? { decision: "allow", reason: "a public path" }
      : { decision: "noOpinion", reason: "" };
}
