import type { Decision } from "../api/attributes.ts";
import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { RequestActor } from "../api/request-actor.ts";
import type { ParsedRequestInfo } from "./request-info.ts";
import { parametersOf } from "../registry/query-values.ts";

/** Records every request. Its promises are awaited. */
export interface RequestAudit {
  /**
   * Called when a request was authenticated, or was refused before that. Returns undefined when it is not recorded. Rejects with an
   * ApiError when it must not be served, because it cannot be recorded.
   */
  begin(received: ReceivedRequest): MaybePromise<AuditedRequest | undefined>;
}

export interface ReceivedRequest {
  readonly auditId: string;
  readonly request: HttpRequest;
  /** Undefined when the request could not be parsed. */
  readonly info: ParsedRequestInfo | undefined;
  /** The user before impersonation. Undefined when authentication failed. */
  readonly user: UserInfo | undefined;
}

/** Takes details of a request for the audit log while the request is served. */
export interface RecordedWork {
  /** Takes annotations, such as those of admission policies. */
  annotate(annotations: Readonly<Record<string, string>>): void;
  /** Takes the name of the object that a create asks for. The path has no name, nor has the answer of a refused create. */
  nameObject(name: string | undefined): void;
  /** Takes the decoded object of the body, or the decoded patch. Undefined: neither is recorded. */
  readonly recordObject: RecordObject | undefined;
}

/** A recorded request. */
export interface AuditedRequest extends RecordedWork {
  /** Called when the answer is ready. Never rejects. */
  answered(answer: RecordedAnswer): MaybePromise<void>;
  /** Called when the stream of a watch has ended. */
  streamEnded(): void;
}

/** Records the object as text at once, so the object may change afterwards. */
export type RecordObject = (object: unknown) => void;

export interface RecordedAnswer {
  /** The user after impersonation. Undefined when the request was refused before. */
  readonly acting: RequestActor | undefined;
  readonly decision: Decision | undefined;
  /** The answer with its uncompressed body. */
  readonly response: HttpResponse;
  /** Whether a bug caused the answer. */
  readonly isPanic: boolean;
}

const longestUri = 4096;

/** The API's query parameters. */
const knownParameters: ReadonlySet<string> = new Set(
  (
    "allowWatchBookmarks continue dryRun exclude fieldManager fieldSelector fieldValidation force gracePeriodSeconds hash " +
    "ignoreStoreReadErrorWithClusterBreakingPotential includeObject labelSelector limit orphanDependents pretty " +
    "propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents timeout timeoutSeconds uid verbose watch"
  ).split(" "),
);

/** The path and query to record: truncated, and only with the API's own parameters. Others may carry a token by mistake. */
export function requestUri({ path, query }: Pick<HttpRequest, "path" | "query">): string {
  if (query === "") return truncated(path, longestUri);
  const names = [...parametersOf(query).keys()];
  const known = parametersIn(query).filter((_, index) => knownParameters.has(names[index] ?? ""));
  return truncated(known.length === 0 ? path : `${path}?${known.join("&")}`, longestUri);
}

/** Each parameter as it was sent, with its escapes, in the order of `URLSearchParams`. */
const parametersIn = (query: string): string[] => query.split("&").filter((parameter) => parameter !== "");

/** The text, cut after `length` UTF-16 units, with a mark when it was longer (upstream's mark). */
export const truncated = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).toWellFormed()}...TRUNCATED`;
