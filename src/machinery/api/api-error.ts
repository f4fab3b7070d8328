import type { FieldError } from "./field-error.ts";
import { maximumFaults } from "./first-faults.ts";
import { shortened } from "./shown-value.ts";
import type { Status, StatusCause, StatusDetails, StatusReason } from "./status.ts";

/**
 * What a Status may hold of what a caller sent, in UTF-16 units: its message, its causes together, and each name. JSON
 * takes at most six bytes for one, so that no Status is larger than 1 MiB.
 */
const maximumMessageLength = 64 * 1024;
const maximumCausesLength = 64 * 1024;
/** Less than a message, so that its end is not cut off. */
const maximumSentenceLength = 48 * 1024;
const maximumNameLength = 2048;
const maximumCauseLength = 8192;

/** The resource, or kind, that an error speaks of. */
export interface Named {
  readonly group: string;
  /** A plural (`serviceaccounts`) or, for Invalid, a kind. */
  readonly resource: string;
}

export interface ApiErrorOptions {
  readonly code: number;
  readonly reason?: StatusReason;
  readonly message: string;
  readonly details?: StatusDetails;
  /** Whole seconds, sent as a Retry-After header too. */
  readonly retryAfterSeconds?: number;
  /** Where a list that can't go on as it was may be continued: it becomes the Status' metadata. */
  readonly continueToken?: string;
}

/** An expected failure: it becomes a Status body. Anything else that is thrown is a bug and is answered as a bare 500. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: StatusReason | undefined;
  readonly details: StatusDetails | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly continueToken: string | undefined;

  constructor({ code, reason, message, details, retryAfterSeconds, continueToken }: ApiErrorOptions) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.continueToken = continueToken;
  }
}

/** A refusal that upstream's router makes, before a handler sees the request. */
export class RouteError extends ApiError {}

/** The one place that renders an error as a Status, cut to what an answer may hold. */
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

/** `certificatesigningrequests.certificates.platform.io`, or the bare resource in the core group. */
export const qualified = ({ group, resource }: Named): string => (group === "" ? resource : `${resource}.${group}`);

const detailsOf = ({ group, resource }: Named, name: string): StatusDetails => ({
  ...(name !== "" && { name }),
  ...(group !== "" && { group }),
  ...(resource !== "" && { kind: resource }),
});

export const badRequest = (message: string): ApiError => new ApiError({ code: 400, reason: "BadRequest", message });

export const unauthorized = (): ApiError =>
  new ApiError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });

/** `message` is the authorizer's whole sentence after the resource and name. */
export const forbidden = (resource: Named, name: string, message: string): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message:
      resource.resource === ""
        ? `forbidden: ${message}`
        : name === ""
          ? `${qualified(resource)} is forbidden: ${message}`
          : `${qualified(resource)} ${JSON.stringify(name)} is forbidden: ${message}`,
    details: detailsOf(resource, name),
  });

export const notFound = (resource: Named, name: string): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: `${qualified(resource)} ${JSON.stringify(name)} not found`,
    details: detailsOf(resource, name),
  });

/** A path that serves nothing. */
export const pathNotFound = (): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });

/** The path serves other methods (upstream: go-restful's router). */
export const routeMethodNotAllowed = (): ApiError =>
  new ApiError({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });

export const notAcceptable = (message: string): ApiError =>
  new ApiError({ code: 406, reason: "NotAcceptable", message });

/** No route serves the path in a type of the Accept header (upstream: go-restful's router). */
export const routeNotAcceptable = (available: readonly string[]): ApiError =>
  new RouteError({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    details: {},
  });

export const alreadyExists = (resource: Named, name: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualified(resource)} ${JSON.stringify(name)} already exists`,
    details: detailsOf(resource, name),
  });

/** `message` says why: it follows "Operation cannot be fulfilled on ...: ". */
export const conflict = (
  resource: Named,
  name: string,
  { message, causes }: { readonly message: string; readonly causes?: readonly StatusCause[] },
): ApiError =>
  new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${message}`,
    details: { ...detailsOf(resource, name), ...(causes !== undefined && { causes }) },
  });

/** A resourceVersion, continue token or watch position that is no longer kept. */
export const expired = (message: string): ApiError => new ApiError({ code: 410, reason: "Expired", message });

export const tooLarge = (message: string): ApiError =>
  new ApiError({ code: 413, reason: "RequestEntityTooLarge", message });

export const unsupportedMediaType = (message: string): ApiError =>
  new ApiError({ code: 415, reason: "UnsupportedMediaType", message });

/** No route takes the Content-Type (upstream: go-restful's router). */
export const routeUnsupportedMediaType = (): ApiError =>
  new RouteError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });

/** Each different fault once, in one text. */
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
 * The faults of an object at once, the first hundred of them: `firstFaults` finds no more. `kind` carries the kind's
 * name in `resource` (upstream: `errors.NewInvalid`).
 */
export function invalid(kind: Named, name: string, faults: readonly FieldError[]): ApiError {
  const causes = faults.slice(0, maximumFaults).map(({ reason, message, field }) => ({ reason, message, field }));
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${qualified(kind)} ${JSON.stringify(shortened(name))} is invalid${
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
    retryAfterSeconds,
  });

/** A bug's answer: it says nothing of the cause, which is in the log. */
export const internalError = (): ApiError =>
  new ApiError({ code: 500, reason: "InternalError", message: "Internal error occurred" });

export const serviceUnavailable = (message: string, retryAfterSeconds = 1): ApiError =>
  new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message,
    details: { retryAfterSeconds },
    retryAfterSeconds,
  });

/** The deadline is over or the client is gone, and nothing was written for it. */
export const requestOver = (): ApiError =>
  timeout("Timeout: the request ended before it could be done, and nothing was written for it");

export const timeout = (message: string, details: StatusDetails = {}): ApiError =>
  new ApiError({ code: 504, reason: "Timeout", message, details });
