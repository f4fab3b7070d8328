import type { Authorizer } from "./authorizer.ts";

/** Lets everyone do everything: for development only. */
export const alwaysAllow: Authorizer = () => ({ decision: "allow", reason: "" });
