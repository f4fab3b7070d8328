import type { Caller } from "../../registry/admission.ts";
import type { ResourceRequest } from "./resource-request.ts";

/** Who writes, as the registry and its rules see it. */
export const requestCaller = (
  { request, user, warnings }: ResourceRequest,
  { isDryRun }: { readonly isDryRun: boolean },
): Caller => ({
  user,
  isDryRun,
  // A getter: a request makes its signal when it is first asked for.
  get signal() {
    return request.signal;
  },
  warn: (warning) => warnings.add(warning),
});
