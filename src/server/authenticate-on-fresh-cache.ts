import type { HttpRequest } from "../machinery/api/http-message.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";

type Authenticate = (request: HttpRequest) => UserInfo | Promise<UserInfo>;

/**
 * Authenticates a request for the API only when this process's cache contains every write that was acknowledged before the
 * request arrived, also writes of other processes. So a token, role or account that was deleted through one process is
 * deleted for all of them. `waitForFreshCache` returns undefined when the cache is fresh already. The request remembers it: on
 * etcd, to ask again is most of the time of a read. Health checks and metrics do not wait: they must answer while the store is
 * unavailable.
 */
export function authenticateOnFreshCache(
  authenticate: Authenticate,
  waitForFreshCache: () => Promise<void> | undefined,
): Authenticate {
  return (request) => {
    if (!request.path.startsWith("/api")) return authenticate(request);
    const onFreshCache = (): UserInfo | Promise<UserInfo> => {
      request.hasFreshCache = true;
      return authenticate(request);
    };
    const waiting = waitForFreshCache();
    return waiting === undefined ? onFreshCache() : waiting.then(onFreshCache);
  };
}
