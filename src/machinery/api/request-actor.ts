import type { AuthorizationAttributes } from "./attributes.ts";
import type { UserInfo } from "./user-info.ts";

/** Who sends a request, and what for. */
export interface RequestSender {
  readonly user: UserInfo;
  /** What the authorizer would be asked if the sender acted as itself. */
  attributes(): AuthorizationAttributes;
}

/** Who a request acts as. */
export interface RequestActor {
  readonly user: UserInfo;
  /** The verb of the constrained mode in which the user is impersonated. Undefined: none. */
  readonly constraint?: string;
}
