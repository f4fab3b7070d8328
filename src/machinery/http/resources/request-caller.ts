import type { Caller } from "../../registry/admission.ts";
import type { ResourceRequest } from "./resource-handler.ts";

/** The caller of a write, as the registry and admission rules see it. */
export const requestCaller = (
  { request, user, warnings }: ResourceRequest,
  { isDryRun }: { readonly isDryRun: boolean },
): Caller => ({
  user,
  isDryRun,
  // A getter, because a request creates its signal on first use.
  get signal() {
    return request.signal;
  },
  warn: (warning) => warnings.add(warning),
});
