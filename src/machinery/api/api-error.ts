import type { FieldError } from "./validation/field-error.ts";
import { maximumFaults } from "./validation/field-error.ts";
import { goQuoted, shortened } from "./text/format-value.ts";
import { qualified } from "./resource-type.ts";
import type { GroupResource } from "./resource-type.ts";
import type { Status, StatusCause, StatusDetails, StatusReason } from "./status.ts";

/**
 * Limits what a Status repeats of the caller's input, in UTF-16 units: for its message, for all causes together, and
 * for each name. JSON needs at most six bytes per unit, so no Status is larger than 1 MiB.
 */
export const maximumMessageLength = 64 * 1024;
const maximumCausesLength = 64 * 1024;
/** Less than a message, so that the end of the message is never cut off. */
const maximumSentenceLength = 48 * 1024;
const maximumNameLength = 2048;
const maximumCauseLength = 8192;

interface ApiErrorOptions {
  readonly code: number;
  readonly reason?: StatusReason | undefined;
  readonly message: string;
  readonly details?: StatusDetails | undefined;
  /** Lets the client continue a list whose old continue token has expired. It goes into the metadata of the Status. */
  readonly continueToken?: string | undefined;
}

/** An expected failure: it becomes a Status. Any other thrown error is a bug and becomes a 500 without details. */
export class ApiError extends Error {
  override readonly name: string = "ApiError";
  readonly code: number;
  readonly reason: StatusReason | undefined;
  readonly details: StatusDetails | undefined;
  readonly continueToken: string | undefined;

  constructor({ code, reason, message, details, continueToken }: ApiErrorOptions) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.continueToken = continueToken;
  }

  /** The same failure with these parts replaced. */
  with(parts: Partial<ApiErrorOptions>): ApiError {
    const { code, reason, message, details, continueToken } = this;
    return new ApiError({ code, reason, message, details, continueToken, ...parts });
  }

  /** Whole seconds, from the details. Sent as the Retry-After header too, and read from another server's header. */
  get retryAfterSeconds(): number | undefined {
    const seconds: unknown = this.details?.retryAfterSeconds; // another server's answer may hold anything there
    return typeof seconds === "number" ? seconds : undefined;
  }
}

/** How long a server has asked to wait before the next try, in milliseconds. 0: it asked for nothing, or there was no answer. */
export const requestedPauseMilliseconds = (error: unknown): number =>
  error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;

/** A refusal by the router, before a handler sees the request, as in upstream. */
export class RouteError extends ApiError {}

/** Renders an error as a Status, shortened to the size limits. This is the only place that does so. */
export function statusOf(error: ApiError): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: error.continueToken === undefined ? {} : { continue: error.continueToken },
    status: "Failure",
    message: shortened(error.message, maximumMessageLength),
    ...(error.reason !== undefined && { reason: error.reason }),
    ...(error.details !== undefined && { details: boundedDetails(error.details) }),
    code: error.code,
  };
}

function boundedDetails({ name, causes, ...details }: StatusDetails): StatusDetails {
  return {
    ...(name !== undefined && { name: shortened(name, maximumNameLength) }),
    ...details,
    ...(causes !== undefined && { causes: boundedCauses(causes) }),
  };
}

function boundedCauses(causes: readonly StatusCause[]): StatusCause[] {
  const bounded: StatusCause[] = [];
  let length = 0;
  for (const { reason, message, field } of causes.slice(0, maximumFaults)) {
    const shown = {
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message: shortened(message, maximumCauseLength) }),
      ...(field !== undefined && { field: shortened(field) }),
    };
    length += (shown.message ?? "").length + (shown.field ?? "").length;
    if (length > maximumCausesLength) break;
    bounded.push(shown);
  }
  return bounded;
}

const detailsOf = ({ group, resource }: GroupResource, name: string): StatusDetails => ({
  ...(name !== "" && { name }),
  ...(group !== "" && { group }),
  ...(resource !== "" && { kind: resource }),
});

export const badRequest = (message: string): ApiError => new ApiError({ code: 400, reason: "BadRequest", message });

export const unauthorized = (): ApiError =>
  new ApiError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });

/** `message` is the authorizer's sentence. It follows the resource and name. */
export const forbidden = (
  resource: GroupResource,
  { name = "", message }: { readonly name?: string; readonly message: string },
): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message:
      resource.resource === ""
        ? `forbidden: ${message}`
        : name === ""
          ? `${qualified(resource)} is forbidden: ${message}`
          : `${qualified(resource)} ${goQuoted(name)} is forbidden: ${message}`,
    details: detailsOf(resource, name),
  });

export const notFound = (resource: GroupResource, name: string): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: `${qualified(resource)} ${goQuoted(name)} not found`,
    details: detailsOf(resource, name),
  });

/** The server has nothing at this path. */
export const pathNotFound = (): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });

/** The path exists, but not for this method (upstream: go-restful's router). */
export const routeMethodNotAllowed = (): ApiError =>
  new ApiError({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });

export const notAcceptable = (message: string): ApiError =>
  new ApiError({ code: 406, reason: "NotAcceptable", message });

/** The path cannot answer in any type of the Accept header (upstream: go-restful's router). */
export const routeNotAcceptable = (available: readonly string[]): ApiError =>
  new RouteError({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    details: {},
  });

export const alreadyExists = (resource: GroupResource, name: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualified(resource)} ${goQuoted(name)} already exists`,
    details: detailsOf(resource, name),
  });

/** `message` gives the reason. It follows "Operation cannot be fulfilled on ...: ". */
export const conflict = (
  resource: GroupResource,
  {
    name,
    message,
    causes,
  }: { readonly name: string; readonly message: string; readonly causes?: readonly StatusCause[] },
): ApiError =>
  new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(resource)} ${goQuoted(name)}: ${message}`,
    details: { ...detailsOf(resource, name), ...(causes !== undefined && { causes }) },
  });

/** The server no longer keeps this resourceVersion, continue token or watch position. */
export const expired = (message: string): ApiError => new ApiError({ code: 410, reason: "Expired", message });

export const tooLarge = (message: string): ApiError =>
  new ApiError({ code: 413, reason: "RequestEntityTooLarge", message });

export const bodyTooLarge = (maximumBytes: number): ApiError =>
  tooLarge(`Request entity too large: limit is ${maximumBytes}`);

export const unsupportedMediaType = (message: string): ApiError =>
  new ApiError({ code: 415, reason: "UnsupportedMediaType", message });

/** The path does not accept this Content-Type (upstream: go-restful's router). */
export const routeUnsupportedMediaType = (): ApiError =>
  new RouteError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });

/** Joins the faults in one text, without duplicates. */
function sentenceOf(faults: readonly FieldError[]): string {
  const sentences = new Set<string>();
  let length = 0;
  for (const { field, message } of faults.slice(0, maximumFaults)) {
    if (length > maximumSentenceLength) break;
    sentences.add(`${field}: ${message}`);
    length += field.length + message.length;
  }
  if (faults.length > maximumFaults) sentences.add(`too many faults: only the first ${maximumFaults} are shown`);
  const [first = ""] = sentences;
  return sentences.size === 1 ? first : `[${[...sentences].join(", ")}]`;
}

/**
 * Reports the faults of an object together. At most the first hundred: see `firstFaults`. The `resource` of `kind` is
 * the kind's name (upstream: `errors.NewInvalid`).
 */
export function invalid(
  kind: GroupResource,
  { name = "", faults }: { readonly name?: string; readonly faults: readonly FieldError[] },
): ApiError {
  const causes = faults.slice(0, maximumFaults).map(({ reason, message, field }) => ({ reason, message, field }));
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${qualified(kind)} ${goQuoted(shortened(name))} is invalid${
      causes.length === 0 ? "" : `: ${sentenceOf(faults)}`
    }`,
    details: { ...detailsOf(kind, name), ...(causes.length > 0 && { causes }) },
  });
}

export const tooManyRequests = (message: string, retryAfterSeconds: number): ApiError =>
  new ApiError({
    code: 429,
    reason: "TooManyRequests",
    message,
    details: { retryAfterSeconds },
  });

/** The answer for a bug. It does not reveal the cause: that is in the log. */
export const internalError = (message = "Internal error occurred"): ApiError =>
  new ApiError({ code: 500, reason: "InternalError", message });

export const serviceUnavailable = (message: string): ApiError =>
  new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message,
    details: { retryAfterSeconds: 1 },
  });

/** The deadline passed or the client disconnected, and nothing was written. */
export const requestCanceled = (): ApiError =>
  timeout("Timeout: the request ended before it could be done, and nothing was written for it");

export const timeout = (message: string): ApiError =>
  new ApiError({ code: 504, reason: "Timeout", message, details: {} });
