import type { AuthorizationAttributes, Decision } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";

/** One authorizer. Never throws. A promise only where something outside this process must be asked. */
export type Authorizer = (attributes: AuthorizationAttributes) => MaybePromise<Decision>;

/** An authorizer that has all it needs in memory. */
export type AuthorizerInMemory = (attributes: AuthorizationAttributes) => Decision;
