import { requestCanceled } from "../../api/api-error.ts";
import { requestTurn, shortTextLength } from "../../scheduling/request-turn.ts";
import type { ResourceRequest } from "./resource-request.ts";

/** Who waits for the turn of a request. */
export type TurnTaker = Pick<ResourceRequest, "request" | "user" | "refuseRevoked">;

/**
 * Waits for the turn of a request that may take long. Rejects with a 504 when its client has left meanwhile, and with a 401 when its
 * sender's credential was revoked. `bodyLength`: in bytes, once the body was read.
 */
export async function longRequestTurn({ request, user, refuseRevoked }: TurnTaker, bodyLength = 0): Promise<void> {
  // The server's own loops do not send bursts, but the rules of an aggregated role are long.
  if (request.inProcess !== undefined && bodyLength <= shortTextLength) return;
  await requestTurn(user);
  if (request.signal.aborted) throw requestCanceled();
  refuseRevoked();
}
