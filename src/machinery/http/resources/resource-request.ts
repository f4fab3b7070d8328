import type { HttpRequest } from "../../api/http-message.ts";
import type { UserInfo } from "../../api/user-info.ts";
import type { Caller } from "../../registry/caller.ts";
import type { TransactionMember } from "../../api/transaction.ts";
import { managerName } from "../../registry/writes/write-options.ts";
import type { WriteOptions } from "../../registry/writes/write-options.ts";
import type { RecordedWork } from "../request-audit.ts";
import { firstSent } from "../sent-header.ts";
import type { Warnings } from "../warnings.ts";
import type { AdmissionRule, Authorize } from "../../api/attributes.ts";
import type { Clock, Schedule } from "../../api/clock.ts";
import type { AuthorizedRequest } from "../request-chain.ts";

/** An authorized request with all that its handler needs. */
export interface ResourceRequest extends AuthorizedRequest {
  /** Whether the request is about many objects or a long one. Apart from that, a request with a long body may take long. */
  readonly mayTakeLong: boolean;
  readonly warnings: Warnings;
  readonly admission: readonly AdmissionRule[];
  readonly authorize: Authorize;
  readonly clock: Clock;
  readonly schedule: Schedule;
}

/** The caller of a write, as the registry and admission rules see it. */
export const requestCaller = (
  { request, user, warnings, audited }: ResourceRequest,
  { isDryRun }: { readonly isDryRun: boolean },
): Caller => new RequestCaller({ request, user, warnings, audited, isDryRun });

class RequestCaller implements Caller {
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  readonly #request: HttpRequest;
  readonly #warnings: Warnings;
  readonly #audited: RecordedWork | undefined;

  constructor({ request, user, warnings, audited, isDryRun }: CallerOptions) {
    this.user = user;
    this.isDryRun = isDryRun;
    this.#request = request;
    this.#warnings = warnings;
    this.#audited = audited;
  }

  // A request creates its signal on first use.
  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get hasFreshCache(): boolean {
    return this.#request.hasFreshCache ?? false;
  }

  get transaction(): TransactionMember | undefined {
    return this.#request.inProcess?.transaction;
  }

  warn(warning: string): void {
    this.#warnings.add(warning);
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    this.#audited?.annotate(annotations);
  }
}

type CallerOptions = Pick<ResourceRequest, "request" | "user" | "warnings" | "audited"> & {
  readonly isDryRun: boolean;
};

/** The name of the field manager that owns the fields of a write: the given one, or else the program in the User-Agent header. */
export function requestManager(request: HttpRequest, { fieldManager }: Pick<WriteOptions, "fieldManager">): string {
  const userAgent = firstSent(request.headers, "user-agent") ?? "";
  // Node reads headers as Latin-1, and clients send UTF-8.
  const isAscii = /^[\x20-\x7e]*$/.test(userAgent);
  return managerName(fieldManager, isAscii ? userAgent : Buffer.from(userAgent, "latin1").toString("utf8"));
}
