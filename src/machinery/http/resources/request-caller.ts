import type { HttpRequest } from "../../api/http-message.ts";
import type { Caller } from "../../registry/admission.ts";
import { managerName } from "../../registry/write-options.ts";
import type { WriteOptions } from "../../registry/write-options.ts";
import type { ResourceRequest } from "./resource-request.ts";

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

/** Whose fields a write's are: as it says, or else the program that sends it. */
export function requestManager(request: HttpRequest, { fieldManager }: Pick<WriteOptions, "fieldManager">): string {
  const [userAgent = ""] = [request.headers["user-agent"] ?? []].flat();
  return managerName(fieldManager, Buffer.from(userAgent, "latin1").toString("utf8"));
}
