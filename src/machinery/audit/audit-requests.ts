import { isIP } from "node:net";
import { ApiError, internalError, statusOf } from "../api/api-error.ts";
import { microTimestamp } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { Names } from "../api/names.ts";
import { unmappedAddress } from "../api/addresses/unmapped-address.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { RequestActor } from "../api/request-actor.ts";
import type { ParsedRequestInfo } from "../http/request-info.ts";
import { requestUri, truncated } from "../http/request-audit.ts";
import { withSelectedName } from "../http/selected-name.ts";
import { firstSent } from "../http/sent-header.ts";
import type {
  RecordedAnswer,
  AuditedRequest,
  ReceivedRequest,
  RecordObject,
  RequestAudit,
} from "../http/request-audit.ts";
import { auditApiVersion, truncatedAnnotation } from "./audit-event.ts";
import type { AuditEvent, AuditLevel, AuditStage } from "./audit-event.ts";
import { decideAudit } from "./audit-policy.ts";
import type { AuditDecision, AuditPolicy } from "./audit-policy.ts";
import { recordedText, sentText } from "./audited-bodies.ts";
import type { AuditedBodies, BodyRule } from "./audited-bodies.ts";

/** The destination of events. */
export interface AuditSink {
  /**
   * Takes an event. Undefined: the request need not wait. A promise resolves when the event is written. It rejects when the event could
   * not be written, and the request must not be served without it.
   */
  record(event: AuditEvent): Promise<void> | undefined;
}

interface AuditOptions {
  readonly names: Names;
  readonly clock: Clock;
  /** Returns the policy that the file has now. */
  readonly policy: () => AuditPolicy;
  readonly bodies: AuditedBodies;
  readonly sinks: readonly AuditSink[];
  /** Returns annotations that follow from the object of a successful answer. `object` reads the object when it is called. */
  readonly annotate: (info: ParsedRequestInfo, object: () => unknown) => Readonly<Record<string, string>> | undefined;
  /** Called once for each request, with the level that the policy gives it. */
  readonly onRequest: (level: AuditLevel) => void;
  /** Called for each event, before it goes to the sinks. */
  readonly onEvent: () => void;
  /** Called for each request that was refused because it could not be recorded. */
  readonly onRejected: () => void;
}

/** Records requests, and counts the unanswered ones. */
interface RequestRecorder extends RequestAudit {
  /** Resolves when all requests that have begun are answered. Call it once. */
  allAnswered(): Promise<void>;
}

/**
 * Records who did what to which object and who allowed it, as events of `audit.k8s.io/v1` by upstream's rules. Only the
 * API's own query parameters are recorded, because others may hold a token by mistake; secrets in bodies never are.
 */
export function auditRequests(options: AuditOptions): RequestRecorder {
  let unanswered = 0;
  let onNoneLeft = (): void => {};
  const onAnswered = (): void => {
    unanswered -= 1;
    if (unanswered === 0) onNoneLeft();
  };
  return {
    begin(begun) {
      const received = withNameOf(begun);
      const { info, user } = received;
      const decision = decideAudit(options.policy(), { info, user, names: options.names });
      options.onRequest(decision.level);
      if (decision.level === "None") return undefined;
      unanswered += 1;
      const recorded = new RecordedRequest(options, { decision, received, onAnswered });
      // Upstream records a request without a valid credential only once, when it is answered.
      if (user === undefined) return recorded;
      const recording = recorded.emit("RequestReceived");
      if (recording === undefined) return recorded;
      return recording.then(
        () => recorded,
        () => {
          onAnswered();
          options.onRejected();
          throw internalError("failed to store audit event");
        },
      );
    },
    allAnswered: () => (unanswered === 0 ? Promise.resolve() : new Promise((resolve) => (onNoneLeft = resolve))),
  };
}

function withNameOf(received: ReceivedRequest): ReceivedRequest {
  if (received.info === undefined) return received;
  const info = withSelectedName(received.info, received.request.query);
  return info === received.info ? received : { ...received, info };
}

/** The largest body that is parsed and recorded. Larger and unreadable bodies are omitted, and an annotation says so. */
const maximumBodyBytes = 4 * 1024 * 1024;
/** Upstream's limit. */
const longestUserAgent = 1024;
/** Longer than any valid name. The name of a refused request may be as long as a path or a body. */
const longestName = 2048;
/**
 * The most characters of an event's annotations that are taken while the request is served. With more, admission policies could make the
 * event longer than any that a file or a webhook takes, and so keep requests out of the log. The others are left out.
 */
const longestAnnotations = 256 * 1024;
/** The longest recorded message of a 403, which quotes the path also for users who may send nothing. */
const longestRefusal = 4096;

type Failure = NonNullable<AuditEvent["responseStatus"]>;

interface BegunRequest {
  readonly decision: AuditDecision;
  readonly received: ReceivedRequest;
  /** Called when the events of the answer were passed to the sinks. */
  readonly onAnswered: () => void;
}

class RecordedRequest implements AuditedRequest {
  readonly recordObject: RecordObject | undefined;
  readonly #options: AuditOptions;
  readonly #decision: AuditDecision;
  readonly #received: ReceivedRequest;
  readonly #level: AuditLevel;
  readonly #bodyRule: BodyRule;
  readonly #receivedAt: number;
  readonly #onAnswered: () => void;
  #sentName: string | undefined;
  #requestObject: string | undefined;
  #responseObject: string | undefined;
  #impersonated: RequestActor | undefined;
  #object: NonNullable<RecordedAnswer["response"]["audited"]>["object"];
  #status: Failure | undefined;
  #annotations: Record<string, string> | undefined;
  /** The length of the annotations that were taken while the request was served, in UTF-16 units. */
  #takenLength = 0;

  constructor(options: AuditOptions, { decision, received, onAnswered }: BegunRequest) {
    this.#options = options;
    this.#decision = decision;
    this.#received = received;
    this.#onAnswered = onAnswered;
    this.#receivedAt = options.clock.now();
    this.#bodyRule = options.bodies.ruleFor(received.info);
    this.#level = this.#bodyRule.type === "never" ? "Metadata" : decision.level;
    this.recordObject = this.#level === "Metadata" ? undefined : (object) => this.#takeRequest(object);
  }

  nameObject(name: string | undefined): void {
    this.#sentName = name && truncated(name, longestName);
  }

  answered(answer: RecordedAnswer): MaybePromise<void> {
    this.#take(answer);
    const { user, info } = this.#received;
    const recording = answer.isPanic
      ? this.emit("Panic")
      : info?.verb === "watch" || (user === undefined && answer.response.status === 401)
        ? this.emit("ResponseStarted")
        : this.emit("ResponseComplete");
    const isWhole = isWholeBody(answer.response.body);
    const isAnsweredWatch = info?.verb === "watch" && isWhole && user !== undefined && !answer.isPanic;
    const ending = isAnsweredWatch ? this.emit("ResponseComplete") : undefined;
    this.#onAnswered();
    if (recording === undefined && ending === undefined) return undefined;
    // Never rejects: the request was served, and a failure now would undo nothing.
    return Promise.allSettled([recording, ending]).then(() => undefined);
  }

  streamEnded(): void {
    void this.emit("ResponseComplete")?.catch(() => {});
  }

  emit(stage: AuditStage): Promise<void> | undefined {
    const { sinks, onEvent } = this.#options;
    if (this.#decision.omitStages.includes(stage)) return undefined;
    onEvent();
    const event = this.#event(stage);
    let pending: Promise<void>[] | undefined;
    for (const sink of sinks) {
      const recording = sink.record(event);
      if (recording !== undefined) (pending ??= []).push(recording);
    }
    return pending && Promise.all(pending).then(() => undefined);
  }

  #takeRequest(object: unknown): void {
    const { omitManagedFields } = this.#decision;
    const rule = this.#options.bodies.ruleForSent(object, this.#bodyRule);
    if (rule.type !== "never") this.#requestObject = recordedText(object, { rule, omitManagedFields });
  }

  #take(answer: RecordedAnswer): void {
    const { acting, decision, response } = answer;
    const { info } = this.#received;
    if (acting !== undefined && acting.user !== this.#received.user) this.#impersonated = acting;
    this.#object = response.audited?.object;
    this.#status = this.#statusOf(answer);
    if (decision !== undefined) {
      this.#add({
        "authorization.k8s.io/decision": decision.decision === "allow" ? "allow" : "forbid",
        "authorization.k8s.io/reason": decision.reason,
      });
    }
    const isOfObject = info !== undefined && info.kind !== "path" && info.verb !== "watch";
    if (!isOfObject && response.status < 400) return;
    const { annotate, bodies } = this.#options;
    const isWanted = this.#level === "RequestResponse" && !this.#mayQuoteBody(response.status);
    if (!isWanted && annotate === undefined) return;
    const { body } = response;
    if (isWholeBody(body) && body.length > maximumBodyBytes) {
      if (isWanted) this.#add(truncatedAnnotation);
      return;
    }
    let object: unknown;
    const read = (): unknown => (object ??= bodies.objectOf(response));
    try {
      this.#add(isOfObject && response.status < 400 ? annotate(info, read) : undefined);
      if (!isWanted) return;
      const recording = { rule: this.#bodyRule, omitManagedFields: this.#decision.omitManagedFields };
      this.#responseObject = sentText(response, recording);
      if (this.#responseObject === undefined && read() !== undefined)
        this.#responseObject = recordedText(read(), recording);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#add(truncatedAnnotation);
    }
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    for (const [key, value] of Object.entries(annotations)) {
      const growth = value.length - (this.#annotations?.[key]?.length ?? -key.length);
      const isFitting = this.#takenLength + growth <= longestAnnotations;
      if (isFitting) this.#takenLength += growth;
      this.#add(isFitting ? { [key]: value } : truncatedAnnotation);
    }
  }

  #add(annotations: Readonly<Record<string, string>> | undefined): void {
    if (annotations !== undefined) this.#annotations = { ...this.#annotations, ...annotations };
  }

  /**
   * Whether the message of a failure may quote the body, so that only its reason is recorded: a 400 quotes a body that cannot be read, and
   * other failures may quote a body with a secret. A GET has no body, and its 400 quotes only the API's own parameters.
   */
  #mayQuoteBody(status: number): boolean {
    if (status === 400) return this.#received.request.method !== "GET";
    return status > 400 && this.#bodyRule.type !== "whole" && status !== 403 && status !== 404;
  }

  #statusOf({ response, isPanic }: RecordedAnswer): Failure {
    const { status, audited } = response;
    if (status < 400) {
      const success = audited?.success;
      return { metadata: {}, ...(success !== undefined && { status: "Success", details: success }), code: status };
    }
    const { request, user } = this.#received;
    const answered = audited?.error && statusOf(audited.error);
    const mayQuoteBody = this.#mayQuoteBody(status);
    const message = isPanic
      ? "APIServer panic'd"
      : user === undefined && status === 401
        ? `Authentication failed, attempted: ${attemptedCredentials(request)}`
        : mayQuoteBody
          ? undefined
          : answered?.message;
    const isLong = status === 403 && message !== undefined && message.length > longestRefusal;
    return {
      metadata: {},
      status: "Failure",
      message: isLong ? truncated(message, longestRefusal) : message,
      reason: answered?.reason,
      details: mayQuoteBody || isLong ? undefined : answered?.details,
      code: status,
    };
  }

  #event(stage: AuditStage): AuditEvent {
    const { auditId, request, info, user } = this.#received;
    const impersonated = this.#impersonated;
    const userAgent = request.headers["user-agent"];
    return {
      kind: "Event",
      apiVersion: auditApiVersion,
      level: this.#level,
      auditID: auditId,
      stage,
      requestURI: requestUri(request),
      verb: info?.verb ?? "",
      user: user === undefined ? {} : auditUser(user),
      impersonatedUser: impersonated && auditUser(impersonated.user),
      authenticationMetadata:
        impersonated?.constraint === undefined ? undefined : { impersonationConstraint: impersonated.constraint },
      sourceIPs: sourceAddresses(request),
      userAgent: userAgent === undefined ? undefined : truncated(String(userAgent), longestUserAgent),
      objectRef: info && info.kind !== "path" ? this.#objectReference(info) : undefined,
      responseStatus: stage === "RequestReceived" ? undefined : this.#status,
      requestObject: this.#requestObject,
      responseObject: stage === "Panic" ? undefined : this.#responseObject,
      requestReceivedTimestamp: microTimestamp(this.#receivedAt),
      stageTimestamp: microTimestamp(this.#options.clock.now()),
      annotations: this.#annotations,
    };
  }

  /**
   * The reference to the object. The path of a create has no name, and no path has the uid, so both come from the objects of the bodies.
   */
  #objectReference(info: Exclude<ParsedRequestInfo, { readonly kind: "path" }>): AuditEvent["objectRef"] {
    const { resource, namespace, name, group, version, subresource } = info;
    const object = this.#object;
    const fromPath = (text: string): string | undefined => (text === "" ? undefined : truncated(text, longestName));
    return {
      resource: truncated(resource, longestName),
      namespace: fromPath(namespace),
      name: fromPath(name) ?? object?.name ?? this.#sentName,
      uid: object?.uid,
      apiGroup: fromPath(group),
      apiVersion: truncated(version, longestName),
      resourceVersion: object?.resourceVersion,
      subresource: fromPath(subresource),
    };
  }
}

/** Empty fields are left out, as in upstream. */
const auditUser = ({ username, uid, groups, extra }: UserInfo): Partial<UserInfo> => ({
  username,
  ...(uid !== undefined && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(Object.keys(extra).length > 0 && { extra }),
});

/** The kinds of credentials in a request (upstream: `getAuthMethods`). */
function attemptedCredentials({ headers, connection }: HttpRequest): string {
  const scheme = /^(basic|bearer) /i.exec(String(headers["authorization"] ?? ""))?.[1]?.toLowerCase();
  const kinds = [scheme, connection.peerCertificates.length > 0 ? "x509" : undefined];
  return kinds.filter((kind) => kind !== undefined).join(", ");
}

/** How many addresses of headers are recorded: a header can contain thousands. The address of the connection is always recorded. */
const maximumForwarded = 32;

/**
 * The addresses from which a request came: first those that X-Forwarded-For and X-Real-Ip claim, then the address of the connection, which
 * alone cannot be forged (upstream: `net.SourceIPs`).
 */
function sourceAddresses({ headers, connection }: HttpRequest): string[] {
  const addresses: string[] = [];
  const forwarded = firstSent(headers, "x-forwarded-for");
  if (forwarded !== undefined) {
    for (const part of forwarded.split(",", maximumForwarded)) {
      const address = part.trim();
      if (isIP(address) > 0) addresses.push(unmappedAddress(address));
    }
  }
  const real = firstSent(headers, "x-real-ip")?.trim();
  if (real !== undefined && isIP(real) > 0 && !addresses.includes(unmappedAddress(real)))
    addresses.push(unmappedAddress(real));
  const remote = unmappedAddress(connection.remoteAddress);
  if (addresses.at(-1) !== remote) addresses.push(remote);
  return addresses;
}
