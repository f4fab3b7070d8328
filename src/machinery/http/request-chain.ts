import { randomUUID } from "node:crypto";
import { ApiError, badRequest, internalError, pathNotFound, routeMethodNotAllowed } from "../api/api-error.ts";
import type { AuthorizationAttributes, Authorize, Decision } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { Handler, HttpRequest, HttpResponse, StreamBody } from "../api/http-message.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import { isApiPath, requestInfo } from "./request-info.ts";
import type { ResourceRequestInfo, ParsedRequestInfo } from "./request-info.ts";
import { mastersGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { RequestActor, RequestCaller } from "../api/request-actor.ts";
import { sharePath } from "../scheduling/share-path.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import { requestChannel, RequestTrace } from "../tracing/request-trace.ts";
import { authorizationAttributes } from "./authorization-attributes.ts";
import { compressed, isCompressible } from "./compressed-answer.ts";
import { emptyListRoutes } from "./empty-list-routes.ts";
import type { FairQueue } from "./fair-queue.ts";
import { refuseMalformedHeaders } from "./malformed-headers.ts";
import { routePath } from "./path-routes.ts";
import { longRequestTurn } from "./resources/long-request-turn.ts";
import type { TurnTaker } from "./resources/long-request-turn.ts";
import type { PathRoutes } from "./path-routes.ts";
import { requestUri } from "./request-audit.ts";
import type { AuditedRequest, RecordedAnswer, RecordedWork, RequestAudit } from "./request-audit.ts";
import { refuseMalformedTimeout } from "./request-timeout.ts";
import { pageNotFound } from "./plain-text.ts";
import { errorResponse } from "./response.ts";
import type { ServedResources } from "./served-resources.ts";
import { addWarnings } from "./warnings.ts";
import type { RequestBound, WatchBound } from "./watch-bound.ts";
import { refuseHandshake } from "./web-socket-handshake.ts";
import { accessDenied } from "../api/access-denied.ts";
import type { Log } from "../logging/log.ts";
import { loggedBug } from "../logging/logged-error.ts";

/** A request for a resource and a verb that are served, which its user may make. */
export interface AuthorizedRequest extends TurnTaker {
  readonly info: ResourceRequestInfo;
  /** Undefined when the request is not recorded. */
  readonly audited: RecordedWork | undefined;
}

export type HandleResource = (authorized: AuthorizedRequest) => MaybePromise<HttpResponse>;

/** What the steps of a request are, in the order in which they run. */
export interface ChainOptions {
  /**
   * Waits until this process's cache contains every write that was acknowledged before the call, also writes of other
   * processes. Undefined when it does already.
   */
  waitForFreshCache(request: HttpRequest): Promise<void> | undefined;
  /** Identifies the caller, and decides about anonymous callers. Throws `unauthorized()` for invalid credentials. */
  authenticate(request: HttpRequest): MaybePromise<UserInfo>;
  /** Throws a 401 for a user whose credential is refused by now: it may be revoked while the request waits. */
  refuseRevoked(user: UserInfo): void;
  /** Limits the number of requests that run at once. `system:masters` is exempt. */
  readonly readOnlyQueue: FairQueue;
  readonly mutatingQueue: FairQueue;
  /** Limits the number of open watches, except for `system:masters` and this process. */
  readonly watches: WatchBound;
  /** Returns whom the request acts as: the caller, or the user that the impersonation headers name. */
  impersonate(request: HttpRequest, caller: RequestCaller): MaybePromise<RequestActor>;
  readonly authorize: Authorize;
  /** Returns the request without headers that carry or claim an identity, so that later steps cannot act on them. */
  withoutIdentity(request: HttpRequest): HttpRequest;
  /** Warnings for the caller about its credentials. Without a user, they are why there is none. */
  identityWarnings(request: HttpRequest, user: UserInfo | undefined): readonly string[];
  /** Called only with verbs that the resource or subresource supports at this path. */
  readonly handleResource: HandleResource;
  /** Paths outside the API. */
  readonly pathRoutes: PathRoutes;
  readonly servedResources: ServedResources;
  readonly log: Pick<Log, "error">;
  /** Called for each request when its answer is ready. It runs on the request path, so keep it fast. */
  readonly onAnswered: (answered: AnsweredRequest) => void;
  /** Called when the body of a watch starts. Returns what to call when it has ended. */
  readonly onStreamStarted: (user: UserInfo, end: () => void) => () => void;
  readonly audit: RequestAudit | undefined;
}

export interface AnsweredRequest {
  readonly auditId: string;
  readonly request: HttpRequest;
  /** Undefined when the path could not be parsed. */
  readonly info: ParsedRequestInfo | undefined;
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
  /** How much of them the request waited for its turn, because others ran. */
  readonly queuedSeconds: number;
  /** The id of the request's trace. Undefined: none was exported. */
  readonly traceId: string | undefined;
}

/** Selectors in shorter queries are parsed so fast that hundreds at once take no more than a few turns. */
const shortQueryLength = 2 * 1024;

/**
 * Runs every request through the same steps: authentication, the fair queue, impersonation, authorization, and only
 * then the handler, which reads the body. It is one function that awaits only what is asynchronous. The handler never
 * rejects.
 *
 * A request for the API begins only on a fresh cache, so a token, role or account that was deleted through one process is
 * deleted for all of them. The request remembers it: on etcd, to ask again is most of the time of a read. Health checks and
 * metrics do not wait: they must answer while the store is unavailable.
 */
export function createRequestChain(options: ChainOptions): Handler {
  const answer = async (request: HttpRequest, trace?: RequestTrace): Promise<HttpResponse> => {
    const lifecycle = new Lifecycle(request);
    let response: HttpResponse;
    /** Before compression. */
    let plain: HttpResponse;
    let isPanic = false;
    let place: Place | undefined;
    try {
      trace?.begin("parse");
      const info = parseRequest(request);
      lifecycle.info = info;
      refuseMalformedTimeout(request, info);

      if (isApiPath(request.path)) {
        const waiting = options.waitForFreshCache(request);
        if (waiting !== undefined) await waiting;
        request.hasFreshCache = true;
      }

      trace?.begin("authenticate");
      const authenticating = options.authenticate(request);
      const authenticatedUser = authenticating instanceof Promise ? await authenticating : authenticating;
      lifecycle.authenticatedUser = authenticatedUser;
      trace?.note(authenticatedUser.username);
      if (options.audit !== undefined) await lifecycle.beginAudit(options.audit);

      const bound = boundFor(options, { request, info, user: authenticatedUser });
      const wanted = bound && { bound, path: sharePath(authenticatedUser) };
      const turn = wanted?.bound.enter(wanted.path);
      place = wanted;
      if (turn !== undefined) {
        trace?.begin("queue");
        const queuedAt = performance.now();
        await turn;
        lifecycle.queuedSeconds = (performance.now() - queuedAt) / 1000;
        // The client disconnected while it was waiting: do no more work for it.
        if (request.signal.aborted) throw badRequest("the client is gone");
      }
      const refuseRevoked = (): void => options.refuseRevoked(authenticatedUser);
      if (request.query.length > shortQueryLength)
        await longRequestTurn({ request, user: authenticatedUser, refuseRevoked });

      trace?.begin("impersonate");
      const impersonating = options.impersonate(request, new Sender(authenticatedUser, { request, info }));
      const acting = impersonating instanceof Promise ? await impersonating : impersonating;
      const { user } = acting;
      lifecycle.acting = acting;
      if (user !== authenticatedUser) trace?.decided(user.username);

      trace?.begin("authorize");
      const attributes = authorizationAttributes(info, { user, query: request.query });
      const deciding = options.authorize(attributes);
      const decision = deciding instanceof Promise ? await deciding : deciding;
      lifecycle.decision = decision;
      trace?.decided(decision.reason === "" ? decision.decision : `${decision.decision}: ${decision.reason}`);
      const hasWaited = turn !== undefined || impersonating instanceof Promise || deciding instanceof Promise;
      if (hasWaited) refuseRevoked();
      if (decision.decision !== "allow") throw notAllowed(decision, { attributes, request });

      trace?.begin("handle");
      const answering = route(options, {
        lifecycle,
        info,
        user,
        refuseRevoked,
        request: options.withoutIdentity(request),
      });
      response = plain = answering instanceof Promise ? await answering : answering;
      if (isCompressible(response.body)) {
        trace?.begin("compress");
        response = await compressed(response, { request, path: sharePath(authenticatedUser) });
      }
    } catch (error) {
      isPanic = !(error instanceof ApiError);
      const refusal = error instanceof ApiError ? error : bug(error, { log: options.log, lifecycle });
      response = plain = errorResponse(refusal, request);
    }
    // A stream leaves at its end.
    if (isWholeBody(plain.body)) leave(place);
    if (options.audit !== undefined) await lifecycle.recordAnswer(options.audit, { response: plain, isPanic });
    return finish(options, { lifecycle, response, trace, place });
  };
  return (request) => {
    if (!requestChannel.hasSubscribers) return answer(request);
    const trace = new RequestTrace(traceparentOf(request));
    return trace.run(() => answer(request, trace));
  };
}

/** A class and no closure, which would keep more in memory for each request. */
class Sender implements RequestCaller {
  readonly user: UserInfo;
  readonly #request: HttpRequest;
  readonly #info: ParsedRequestInfo;

  constructor(user: UserInfo, { request, info }: Pick<BoundedRequest, "request" | "info">) {
    this.user = user;
    this.#request = request;
    this.#info = info;
  }

  attributes(): AuthorizationAttributes {
    return authorizationAttributes(this.#info, { user: this.user, query: this.#request.query });
  }
}

/** Says what a request asks for. Throws a 400 for one that cannot be read. */
function parseRequest(request: HttpRequest): ParsedRequestInfo {
  refuseMalformedHeaders(request.headers);
  if (request.isWebSocket === true) refuseHandshake(request);
  return requestInfo(request);
}

interface AnsweredExchange {
  readonly lifecycle: Lifecycle;
  readonly response: HttpResponse;
  readonly trace: RequestTrace | undefined;
  readonly place: Place | undefined;
}

/** Adds the headers of every answer, reports the answer, and watches the stream of a watch. */
function finish(options: ChainOptions, { lifecycle, response, trace, place }: AnsweredExchange): HttpResponse {
  const { request, auditId, authenticatedUser } = lifecycle;
  addWarnings(response, options.identityWarnings(request, authenticatedUser));
  response.headers["audit-id"] = auditId;
  response.headers["cache-control"] ??= "no-cache, private";
  const traceId = trace?.publish({
    auditId,
    method: request.method,
    uri: requestUri(request),
    user: authenticatedUser?.username,
    status: response.status,
  });
  options.onAnswered(lifecycle.answered(response, traceId));
  const { body } = response;
  if (isWholeBody(body)) return response;
  return { ...response, body: withHooks(body, { lifecycle, place, onStreamStarted: options.onStreamStarted }) };
}

/**
 * The client's request id, so that the client can find its request in the audit log, or a new id (upstream:
 * `WithAuditInit`).
 */
function auditIdOf({ headers }: HttpRequest): string {
  const given = headers["audit-id"];
  return (typeof given === "string" ? given : given?.[0]) || randomUUID();
}

function traceparentOf({ headers }: HttpRequest): string | undefined {
  const value = headers["traceparent"];
  return typeof value === "string" ? value : undefined;
}

/** What is known about a request so far. */
class Lifecycle {
  readonly request: HttpRequest;
  readonly auditId: string;
  readonly #startedAt = performance.now();
  info: ParsedRequestInfo | undefined;
  authenticatedUser: UserInfo | undefined;
  acting: RequestActor | undefined;
  decision: Decision | undefined;
  queuedSeconds = 0;
  isServed = false;
  /** Undefined: the request is not recorded. */
  audited: AuditedRequest | undefined;
  #isAuditBegun = false;

  constructor(request: HttpRequest) {
    this.request = request;
    this.auditId = auditIdOf(request);
  }

  /** Rejects when the request must not be served, because it cannot be recorded. */
  async beginAudit(audit: RequestAudit): Promise<void> {
    this.#isAuditBegun = true;
    const { auditId, request, info, authenticatedUser } = this;
    this.audited = await audit.begin({ auditId, request, info, user: authenticatedUser });
  }

  async recordAnswer(audit: RequestAudit, answer: Pick<RecordedAnswer, "response" | "isPanic">): Promise<void> {
    // It could not be parsed, or authentication failed.
    if (!this.#isAuditBegun) await this.beginAudit(audit);
    const { acting, decision } = this;
    await this.audited?.answered({ acting, decision, ...answer });
  }

  answered(response: HttpResponse, traceId: string | undefined): AnsweredRequest {
    const { auditId, request, info, authenticatedUser, acting, decision, isServed, queuedSeconds } = this;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const user = acting?.user;
    return {
      auditId,
      request,
      info,
      authenticatedUser,
      user,
      decision,
      isServed,
      response,
      seconds,
      queuedSeconds,
      traceId,
    };
  }
}

/** The same stream. Its start and its end are reported, the end to the audit log too. */
const withHooks = (
  body: StreamBody,
  {
    lifecycle,
    place,
    onStreamStarted,
  }: Pick<AnsweredExchange, "lifecycle" | "place"> & { readonly onStreamStarted: ChainOptions["onStreamStarted"] },
): StreamBody => ({
  ...body,
  start(sink) {
    const { authenticatedUser } = lifecycle;
    const left = authenticatedUser && onStreamStarted(authenticatedUser, () => sink.end());
    const stop = body.start(sink);
    return () => {
      left?.();
      leave(place);
      stop();
      lifecycle.audited?.streamEnded();
    };
  },
});

interface RoutedRequest extends TurnTaker {
  readonly lifecycle: Lifecycle;
  readonly info: ParsedRequestInfo;
}

/** Paths that no router knows, though they can be read: the core group has no path below `/apis`. */
const hasEmptyBeginning = /^\/(?:apis\/)?\//;

/** Routes an authorized request: refuses unknown paths and unsupported methods, otherwise answers. */
function route(
  options: ChainOptions,
  { lifecycle, info, user, refuseRevoked, request }: RoutedRequest,
): MaybePromise<HttpResponse> {
  const { path } = info;
  if (hasEmptyBeginning.test(path)) return pageNotFound();
  if (info.kind === "path") return routePath(options.pathRoutes, { path, request }) ?? unknownPath(options, path);
  if (!options.servedResources.hasGroup(info.group)) {
    return (info.verb === "list" ? routePath(emptyListRoutes, { path, request }) : undefined) ?? pageNotFound();
  }
  const verbs = options.servedResources.verbsAt(info);
  if (verbs.length === 0) throw pathNotFound();
  if (info.kind === "unserved" || !verbs.includes(info.verb)) throw routeMethodNotAllowed();
  lifecycle.isServed = true;
  return options.handleResource({ request, info, user, refuseRevoked, audited: lifecycle.audited });
}

/** What a request has while it runs. */
interface Place {
  readonly bound: RequestBound;
  readonly path: SharePath;
}

const leave = (place: Place | undefined): void => place?.bound.leave(place.path);

interface BoundedRequest {
  readonly request: HttpRequest;
  readonly info: ParsedRequestInfo;
  readonly user: UserInfo;
}

/** The bound that a request keeps. Undefined: it is exempt. */
function boundFor(options: ChainOptions, { request, info, user }: BoundedRequest): RequestBound | undefined {
  if (isExempt(info, user)) return undefined;
  const { kind, verb } = info;
  // The loops need their watches, and are few.
  if (verb === "watch") return request.inProcess === undefined ? options.watches.of(request) : undefined;
  // A request that waits for its turn would hold up the other requests of its transaction.
  if (request.inProcess?.transaction !== undefined) return undefined;
  return kind === "path" || verb === "get" || verb === "list" ? options.readOnlyQueue : options.mutatingQueue;
}

/** Health checks and administrators are always served. */
const isExempt = (info: ParsedRequestInfo, user: UserInfo): boolean =>
  user.groups.includes(mastersGroup) || (info.kind === "path" && /^\/(?:healthz|livez|readyz)/.test(info.path));

/** The 404 for an unknown path: a Status below `/api` and served groups, plain text elsewhere. */
function unknownPath({ servedResources }: ChainOptions, path: string): HttpResponse {
  const [, prefix, group] = path.split("/");
  const isApi =
    prefix === "api" || (prefix === "apis" && group !== undefined && servedResources.hasGroup(group) && group !== "");
  if (isApi) throw pathNotFound();
  return pageNotFound();
}

/** A 403, or a 500 when an authorizer could not say (upstream: `WithAuthorization`). */
const notAllowed = (
  { reason, evaluationError }: Decision,
  { attributes, request }: { readonly attributes: AuthorizationAttributes; readonly request: HttpRequest },
): ApiError =>
  evaluationError === undefined
    ? accessDenied(attributes, reason)
    : internalError(`Internal Server Error: ${JSON.stringify(requestUri(request))}: ${evaluationError}`);

/** Logs everything and reveals nothing to the client. */
function bug(
  error: unknown,
  { log, lifecycle: { auditId, info } }: { readonly log: Pick<Log, "error">; readonly lifecycle: Lifecycle },
): ApiError {
  log.error({ err: loggedBug(error), auditId, verb: info?.verb, path: info?.path }, "request failed unexpectedly");
  return internalError();
}
