import type { AdmissionRule, Authorize } from "../../api/attributes.ts";
import type { Clock } from "../../api/clock.ts";
import type { HttpRequest } from "../../api/http-message.ts";
import type { ResourceRequestInfo } from "../../api/request-info.ts";
import type { UserInfo } from "../../api/user-info.ts";
import type { Schedule } from "../../api/schedule.ts";
import type { AnnotatedRequest, RecordObject } from "../request-audit.ts";
import type { Warnings } from "../warnings.ts";

/** An authorized request with what its answer is made of. */
export interface ResourceRequest {
  readonly request: HttpRequest;
  readonly info: ResourceRequestInfo;
  readonly user: UserInfo;
  readonly warnings: Warnings;
  readonly admission: readonly AdmissionRule[];
  readonly authorize: Authorize;
  readonly clock: Clock;
  readonly schedule: Schedule;
  /** Takes the object of the body for the audit log. Undefined: it is not wanted. */
  readonly recordObject: RecordObject | undefined;
  /** Undefined: the request is not in the audit log. */
  readonly audited: AnnotatedRequest | undefined;
}
