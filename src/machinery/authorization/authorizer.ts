import type { AuthorizationAttributes, Decision } from "../api/attributes.ts";

/** One authorizer. Synchronous: whatever it looks at is in memory. Never throws. */
export type Authorizer = (attributes: AuthorizationAttributes) => Decision;
