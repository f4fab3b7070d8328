import type { AuthorizerInMemory } from "./authorizer.ts";

/** Lets everyone do everything: for development only. */
export const alwaysAllow: AuthorizerInMemory = () => ({ decision: "allow", reason: "" });
