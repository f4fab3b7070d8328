import type { ApiObject } from "../../api/object-meta.ts";
import type { Caller } from "../caller.ts";
import type { HookContext } from "../definition/resource-definition.ts";
import type { ResourceRegistry } from "../resource-registry.ts";

/** The context that the hooks of a kind get for a write, at the current time. */
export const hookContext = <T extends ApiObject>(
  { definition, clock }: ResourceRegistry<T>,
  { caller: { user, isDryRun }, namespace }: { readonly caller: Caller; readonly namespace: string },
): HookContext => ({ user, requestedGroup: definition.group, namespace, isDryRun, now: clock.now() });
