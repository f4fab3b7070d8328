import { ApiError, internalError, pathNotFound, routeMethodNotAllowed } from "../api/api-error.ts";
import type { AuthorizationAttributes, Authorize, Decision } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { Handler, HttpRequest, HttpResponse, StreamBody } from "../api/http-message.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import { isForApi, requestInfo } from "./request-info.ts";
import type { ResourceRequestInfo, ParsedRequestInfo } from "./request-info.ts";
import { anonymousUsername, mastersGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { RequestActor, RequestSender } from "../api/request-actor.ts";
import { sharePath } from "../scheduling/share-path.ts";
import { requestChannel, RequestTrace } from "../tracing/request-trace.ts";
import { authorizationAttributes } from "./authorization-attributes.ts";
import { compressed, isCompressible } from "./compressed-answer.ts";
import { emptyListRoutes } from "./routes/empty-list-routes.ts";
import type { FairQueue } from "./fair-queue.ts";
import { refuseMalformedHeaders } from "./malformed-headers.ts";
import { routePath } from "./routes/path-routes.ts";
import { longRequestTurn } from "./resources/long-request-turn.ts";
import type { TurnTaker } from "./resources/long-request-turn.ts";
import type { PathRoutes } from "./routes/path-routes.ts";
import { requestUri } from "./request-audit.ts";
import type { RecordedWork, RequestAudit } from "./request-audit.ts";
import { RequestLifecycle } from "./request-lifecycle.ts";
import type { AnsweredRequest } from "./request-lifecycle.ts";
import { refuseMalformedTimeout } from "./request-timeout.ts";
import { pageNotFound } from "./plain-text.ts";
import { errorResponse } from "./response.ts";
import { sentOnce } from "./sent-header.ts";
import type { ServedResources } from "./served-resources.ts";
import { addWarnings } from "./warnings.ts";
import type { RequestBound, WatchBound } from "./watch-bound.ts";
import { refuseHandshake } from "./connections/http1/web-socket-handshake.ts";
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

/** The steps of a request, in the order in which they run, and what they need. */
export interface ChainOptions {
  /**
   * Waits until this process's cache contains every write that was acknowledged before the call, also writes of other
   * processes. Undefined when it does already.
   */
  waitForFreshCache(request: HttpRequest): Promise<void> | undefined;
  /** Identifies the sender, and decides about anonymous senders. Throws `unauthorized()` for invalid credentials. */
  authenticate(request: HttpRequest): MaybePromise<UserInfo>;
  /** Throws a 401 for a user whose credential is refused by now: it may be revoked while the request waits. */
  refuseRevoked(user: UserInfo): void;
  /** Limits the number of requests that run at once. `system:masters` is exempt. */
  readonly readOnlyQueue: FairQueue;
  readonly mutatingQueue: FairQueue;
  /** Limits the number of open watches, except for `system:masters` and this process. */
  readonly watches: WatchBound;
  /** Returns the acting user: the sender, or the user that the impersonation headers name. */
  impersonate(request: HttpRequest, sender: RequestSender): MaybePromise<RequestActor>;
  readonly authorize: Authorize;
  /** Returns the request without headers that carry or claim an identity, so that later steps cannot act on them. */
  withoutIdentity(request: HttpRequest): HttpRequest;
  /** Warnings for the sender about its credentials. Without a user, they say why the sender is not known. */
  identityWarnings(request: HttpRequest, user: UserInfo | undefined): readonly string[];
  /** Called only with verbs that the resource or subresource supports at this path. */
  readonly handleResource: HandleResource;
  /** Paths outside the API. */
  readonly pathRoutes: PathRoutes;
  readonly servedResources: ServedResources;
  readonly log: Pick<Log, "error">;
  /** Called for each request when its answer is ready. It runs on the request path, so keep it fast. */
  readonly onAnswered: (answered: AnsweredRequest) => void;
  /** Called when the body of a watch starts. Returns the function to call when it has ended. */
  readonly onStreamStarted: (user: UserInfo, end: () => void) => () => void;
  readonly audit: RequestAudit | undefined;
}

/** Selectors in shorter queries are parsed so fast that hundreds at once take no more than a few turns. */
const shortQueryLength = 2 * 1024;

/**
 * Runs every request through the same steps: authentication, the fair queue, impersonation, authorization, and only
 * then the handler, which reads the body. It is one function that awaits only what is asynchronous. The handler never
 * rejects.
 *
 * A request for the API begins only on a fresh cache, so a token, role or account that was deleted through one process is
 * deleted for all of them. The request remembers that the cache is fresh, because on etcd a second check would take most of the time of a
 * read. Health checks and metrics do not wait: they must answer while the store is unavailable.
 */
export function createRequestChain(options: ChainOptions): Handler {
  const answer = async (request: HttpRequest, trace?: RequestTrace): Promise<HttpResponse> => {
    const lifecycle = new RequestLifecycle(request, trace);
    let response: HttpResponse;
    /** Before compression. */
    let plain: HttpResponse;
    try {
      trace?.begin("parse");
      const info = parseRequest(request);
      lifecycle.info = info;
      refuseMalformedTimeout(request, info);

      if (isForApi(info)) {
        const waiting = options.waitForFreshCache(request);
        if (waiting !== undefined) await waiting;
        request.hasFreshCache = true;
      }

      trace?.begin("authenticate");
      const authenticating = options.authenticate(request);
      const authenticatedUser = authenticating instanceof Promise ? await authenticating : authenticating;
      lifecycle.authenticatedUser = authenticatedUser;
      if (authenticatedUser.username !== anonymousUsername) request.connection.isUsedBy?.(authenticatedUser);
      trace?.note(authenticatedUser.username);
      if (options.audit !== undefined) await lifecycle.beginAudit(options.audit);

      const bound = boundFor(options, { request, info, user: authenticatedUser });
      const turn = bound && lifecycle.enter(bound, sharePath(authenticatedUser));
      if (turn !== undefined) await turn;
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
      const refusal = error instanceof ApiError ? error : bug(error, { log: options.log, lifecycle });
      response = plain = errorResponse(refusal, request);
    }
    // A stream keeps its place in the queue until it ends.
    if (isWholeBody(plain.body)) lifecycle.leave();
    if (options.audit !== undefined) await lifecycle.recordAnswer(options.audit, plain);
    return finish(options, { lifecycle, response });
  };
  return (request) => {
    if (!requestChannel.hasSubscribers) return answer(request);
    const trace = new RequestTrace(sentOnce(request.headers, "traceparent"));
    return trace.run(() => answer(request, trace));
  };
}

/** A class, because a closure would take more memory for each request. */
class Sender implements RequestSender {
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

/** Parses what a request asks for. Throws a 400 for a malformed request. */
function parseRequest(request: HttpRequest): ParsedRequestInfo {
  refuseMalformedHeaders(request.headers);
  if (request.isWebSocket === true) refuseHandshake(request);
  return requestInfo(request);
}

/** Adds the headers of every answer, reports the answer, and watches the stream of a watch. */
function finish(
  options: ChainOptions,
  { lifecycle, response }: { readonly lifecycle: RequestLifecycle; readonly response: HttpResponse },
): HttpResponse {
  addWarnings(response, options.identityWarnings(lifecycle.request, lifecycle.authenticatedUser));
  response.headers["audit-id"] = lifecycle.auditId;
  response.headers["cache-control"] ??= "no-cache, private";
  options.onAnswered(lifecycle.answered(response));
  const { body } = response;
  return isWholeBody(body)
    ? response
    : { ...response, body: withHooks(body, { lifecycle, onStreamStarted: options.onStreamStarted }) };
}

/** The stream with reports of its start and its end. The end goes to the audit log too. */
const withHooks = (
  body: StreamBody,
  { lifecycle, onStreamStarted }: Pick<ChainOptions, "onStreamStarted"> & { readonly lifecycle: RequestLifecycle },
): StreamBody => ({
  ...body,
  start(sink) {
    const { authenticatedUser } = lifecycle;
    const left = authenticatedUser && onStreamStarted(authenticatedUser, () => sink.end());
    const stop = body.start(sink);
    return () => {
      left?.();
      lifecycle.leave();
      stop();
      lifecycle.audited?.streamEnded();
    };
  },
});

interface RoutedRequest extends TurnTaker {
  readonly lifecycle: RequestLifecycle;
  readonly info: ParsedRequestInfo;
}

/** Paths that begin with an empty segment, or name an empty group: the core group has no path below `/apis`. No route matches them. */
const emptyFirstSegmentOrGroup = /^\/(?:apis\/)?\//;

/** Routes an authorized request: refuses unknown paths and unsupported methods, otherwise answers. */
function route(
  options: ChainOptions,
  { lifecycle, info, user, refuseRevoked, request }: RoutedRequest,
): MaybePromise<HttpResponse> {
  const { path } = info;
  if (emptyFirstSegmentOrGroup.test(path)) return pageNotFound();
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

interface BoundedRequest {
  readonly request: HttpRequest;
  readonly info: ParsedRequestInfo;
  readonly user: UserInfo;
}

/** The limit on simultaneous requests that holds for a request. Undefined: the request is exempt. */
function boundFor(options: ChainOptions, { request, info, user }: BoundedRequest): RequestBound | undefined {
  if (isExempt(info, user)) return undefined;
  const { kind, verb } = info;
  // The watches of this process are exempt: its control loops need them, and are few.
  if (verb === "watch") return request.inProcess === undefined ? options.watches.of(request) : undefined;
  // A request that waits for its turn would delay the other requests of its transaction.
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
  { log, lifecycle }: { readonly log: Pick<Log, "error">; readonly lifecycle: RequestLifecycle },
): ApiError {
  lifecycle.isPanic = true;
  const { auditId, info } = lifecycle;
  log.error({ err: loggedBug(error), auditId, verb: info?.verb, path: info?.path }, "request failed unexpectedly");
  return internalError();
}
