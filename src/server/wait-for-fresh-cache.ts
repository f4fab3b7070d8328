import type { HttpRequest } from "../machinery/api/http-message.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";

type Authenticate = (request: HttpRequest) => UserInfo | Promise<UserInfo>;

/**
 * Lets a request for the API in once this process's copies in memory show everything that was acknowledged before it came,
 * by whatever process: a token, a role or an account that is gone is gone in all of them. `catchUp` answers undefined when
 * they do. Health and metrics are for times when the store can't be asked: they do not wait.
 */
export function waitForFreshCache(authenticate: Authenticate, catchUp: () => Promise<void> | undefined): Authenticate {
  return (request) => {
    const waiting = request.path.startsWith("/api") ? catchUp() : undefined;
    return waiting === undefined ? authenticate(request) : waiting.then(() => authenticate(request));
  };
}
