import { requestCanceled } from "../../api/api-error.ts";
import { requestTurn } from "../../scheduling/request-turn.ts";
import type { ResourceRequest } from "./resource-request.ts";

/** Waits for the turn of a request that may take long. Rejects with a 504 when its client has left meanwhile. */
export async function longRequestTurn({ request, user }: Pick<ResourceRequest, "request" | "user">): Promise<void> {
  // The server's own loops do not send bursts.
  if (request.inProcess !== undefined) return;
  await requestTurn(user);
  if (request.signal.aborted) throw requestCanceled();
}
