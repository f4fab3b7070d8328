import type { Caller } from "../../registry/admission.ts";
import type { ResourceRequest } from "./resource-handler.ts";

/** Who writes, as the registry and its rules see it. */
export const requestCaller = (
  { user, warnings }: ResourceRequest,
  { isDryRun }: { readonly isDryRun: boolean },
): Caller => ({ user, isDryRun, warn: (warning) => warnings.add(warning) });
