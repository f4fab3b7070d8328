import { requestCanceled } from "../../api/api-error.ts";
import type { HttpRequest } from "../../api/http-message.ts";
import type { UserInfo } from "../../api/user-info.ts";
import { requestTurn, shortTextLength } from "../../scheduling/request-turn.ts";

/** A request that waits for its turn, and its user. */
export interface TurnTaker {
  readonly request: HttpRequest;
  readonly user: UserInfo;
  /**
   * Throws a 401 when the credential of the sender (the user before impersonation) is refused by now. It may be revoked while the request
   * waits, while its body comes, or while it deletes many objects.
   */
  readonly refuseRevoked: () => void;
}

/**
 * Waits for the turn of a request that may take long. Rejects with a 504 when its client disconnected meanwhile, and with a 401 when the
 * sender's credential was revoked. `bodyLength`: in bytes, once the body was read.
 */
export async function longRequestTurn({ request, user, refuseRevoked }: TurnTaker, bodyLength = 0): Promise<void> {
  // The server's own loops do not send bursts, but the rules of an aggregated role are long.
  if (request.inProcess !== undefined && bodyLength <= shortTextLength) return;
  await requestTurn(user);
  if (request.signal.aborted) throw requestCanceled();
  refuseRevoked();
}
