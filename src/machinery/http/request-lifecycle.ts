import { randomUUID } from "node:crypto";
import { badRequest } from "../api/api-error.ts";
import type { Decision } from "../api/attributes.ts";
import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import type { RequestActor } from "../api/request-actor.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import type { RequestTrace } from "../tracing/request-trace.ts";
import { requestUri } from "./request-audit.ts";
import type { AuditedRequest, ReceivedRequest, RequestAudit } from "./request-audit.ts";
import type { ParsedRequestInfo } from "./request-info.ts";
import { firstSent } from "./sent-header.ts";
import type { RequestBound } from "./watch-bound.ts";

export interface AnsweredRequest extends Omit<ReceivedRequest, "user"> {
  /**
   * The user that was authenticated, and the user after impersonation. Undefined when the request did not get that far.
   */
  readonly authenticatedUser: UserInfo | undefined;
  readonly user: UserInfo | undefined;
  /** Whether the request was allowed, and why. Undefined when it did not get that far. */
  readonly decision: Decision | undefined;
  readonly response: HttpResponse;
  /** Whether the resource and verb are served. Only then are they words from a bounded set, safe for metric labels. */
  readonly isServed: boolean;
  readonly seconds: number;
  /** How many of these seconds the request waited for other requests to end. */
  readonly queuedSeconds: number;
  /** The id of the request's trace. Undefined: none was exported. */
  readonly traceId: string | undefined;
}

/** What is known about a request so far, with its trace, its audit record and its place among the running requests. */
export class RequestLifecycle {
  readonly request: HttpRequest;
  /** Undefined: nothing is traced. */
  readonly trace: RequestTrace | undefined;
  readonly auditId: string;
  readonly #startedAt = performance.now();
  info: ParsedRequestInfo | undefined;
  authenticatedUser: UserInfo | undefined;
  acting: RequestActor | undefined;
  decision: Decision | undefined;
  isServed = false;
  /** Whether a bug has ended it. */
  isPanic = false;
  /** Undefined: the request is not recorded. */
  audited: AuditedRequest | undefined;
  #isAuditBegun = false;
  #queuedSeconds = 0;
  /** The place that the request gives back at its end. Undefined: it is exempt, or did not get that far. */
  #entered: { readonly bound: RequestBound; readonly path: SharePath } | undefined;

  constructor(request: HttpRequest, trace: RequestTrace | undefined) {
    this.request = request;
    this.trace = trace;
    this.auditId = auditIdOf(request);
  }

  /**
   * Takes a place for the request. Returns undefined when the request may run now, otherwise a promise that resolves when it may. Throws a
   * 429 when its user may have no more places.
   */
  enter(bound: RequestBound, path: SharePath): Promise<void> | undefined {
    const turn = bound.enter(path);
    this.#entered = { bound, path };
    return turn === undefined ? undefined : this.#waitFor(turn);
  }

  async #waitFor(turn: Promise<void>): Promise<void> {
    this.trace?.begin("queue");
    const queuedAt = performance.now();
    await turn;
    this.#queuedSeconds = (performance.now() - queuedAt) / 1000;
    // The client disconnected while it was waiting: do no more work for it.
    if (this.request.signal.aborted) throw badRequest("the client is gone");
  }

  /** Gives the place of the request back. Call it once, at the end. */
  leave(): void {
    this.#entered?.bound.leave(this.#entered.path);
  }

  /** Rejects when the request must not be served, because it cannot be recorded. */
  async beginAudit(audit: RequestAudit): Promise<void> {
    this.#isAuditBegun = true;
    const { auditId, request, info, authenticatedUser } = this;
    this.audited = await audit.begin({ auditId, request, info, user: authenticatedUser });
  }

  /** `response`: before its body is compressed. */
  async recordAnswer(audit: RequestAudit, response: HttpResponse): Promise<void> {
    // The request could not be parsed, or authentication failed.
    if (!this.#isAuditBegun) await this.beginAudit(audit);
    const { acting, decision, isPanic } = this;
    await this.audited?.answered({ acting, decision, isPanic, response });
  }

  answered(response: HttpResponse): AnsweredRequest {
    const { auditId, request, info, authenticatedUser, acting, decision, isServed } = this;
    return {
      auditId,
      request,
      info,
      authenticatedUser,
      user: acting?.user,
      decision,
      isServed,
      response,
      seconds: (performance.now() - this.#startedAt) / 1000,
      queuedSeconds: this.#queuedSeconds,
      traceId: this.#publishTrace(response),
    };
  }

  #publishTrace({ status }: HttpResponse): string | undefined {
    const { trace, auditId, request, authenticatedUser } = this;
    const { method } = request;
    return trace?.publish({ auditId, method, uri: requestUri(request), user: authenticatedUser?.username, status });
  }
}

/** In UTF-16 units. Longer ids are cut, because each audit event of the request contains the id. */
const longestAuditId = 1024;

/**
 * The client's request id, so that the client can find its request in the audit log, or a new id (upstream:
 * `WithAuditInit`).
 */
const auditIdOf = ({ headers }: HttpRequest): string =>
  firstSent(headers, "audit-id")?.slice(0, longestAuditId) || randomUUID();
