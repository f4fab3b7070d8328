import { forbiddenField, validateChoice } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { parseFieldSelector } from "../../api/selectors/field-selector.ts";
import { parseLabelSelector } from "../../api/selectors/parse-label-selector.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { objectSelector } from "./object-selector.ts";
import type { ObjectSelector } from "./object-selector.ts";
import { parametersOf, parseBoolean, parseInteger } from "../query-values.ts";
import type { QueryParameters } from "../query-values.ts";
import type { ResourceDefinition } from "../definition/resource-definition.ts";
import { invalidOptions } from "../writes/write-options.ts";

/** The parameters of a list, a watch or a deletion of a collection. */
export interface ListOptions<T extends ApiObject> {
  readonly selector: ObjectSelector<T>;
  /** Empty when it was not given. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: "" | "Exact" | "NotOlderThan";
  /** 0 or less: no limit. */
  readonly limit: number;
  /** "" for the first page. */
  readonly continueToken: string;
  /** Undefined when the server decides. */
  readonly timeoutSeconds?: number;
  readonly allowsBookmarks: boolean;
  /** Undefined when it was not given: then the resourceVersion decides. */
  readonly sendsInitialEvents?: boolean;
}

export interface ListOptionsRequest {
  readonly query: string;
  readonly namespace: string;
  /** Set by the old `/watch/` paths, else empty. */
  readonly name: string;
}

/**
 * Parses and checks the query of a list or watch. As in upstream (`ValidateListOptions`), a query with `watch` is checked as a watch, and
 * any other as a list, even on the old `/watch/` paths. Throws 400 and 422.
 */
export function parseListOptions<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { query, namespace, name }: ListOptionsRequest,
): ListOptions<T> {
  const parameters = parametersOf(query);
  const isWatch = parseBoolean(parameters, "watch") ?? false;
  const timeoutSeconds = parseInteger(parameters, "timeoutSeconds");
  const limit = parseInteger(parameters, "limit") ?? 0;
  const resourceVersion = parameters.get("resourceVersion") ?? "";
  const { match, sendsInitialEvents } = isWatch ? initialStateOf(parameters) : versionMatchOf(parameters);
  const continueToken = parameters.get("continue") ?? "";
  const labels = parseLabelSelector(parameters.get("labelSelector") ?? "");
  const fields = parseFieldSelector(parameters.get("fieldSelector") ?? "");

  const sent = { resourceVersion, match, continueToken, sendsInitialEvents };
  const faults = isWatch ? validateWatch(sent) : validateList(sent);
  if (faults.length > 0) throw invalidOptions("ListOptions", faults);
  return {
    selector: objectSelector(definition, { namespace, name, labels, fields }),
    resourceVersion,
    resourceVersionMatch: match === "Exact" || match === "NotOlderThan" ? match : "",
    limit,
    continueToken,
    allowsBookmarks: parseBoolean(parameters, "allowWatchBookmarks") ?? false,
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(sendsInitialEvents !== undefined && { sendsInitialEvents }),
  };
}

type VersionMatch = Pick<SentVersions, "match" | "sendsInitialEvents">;

const versionMatchOf = (parameters: QueryParameters): VersionMatch => ({
  match: parameters.get("resourceVersionMatch") ?? "",
  sendsInitialEvents: parseBoolean(parameters, "sendInitialEvents"),
});

/** A watch without a version begins with the initial state, as if the client had asked for it (upstream: `SetListOptionsDefaults`). */
function initialStateOf(parameters: QueryParameters): VersionMatch {
  const sent = versionMatchOf(parameters);
  const hasNoVersion = ["", "0"].includes(parameters.get("resourceVersion") ?? "");
  const isDefaulted = hasNoVersion && sent.match === "" && sent.sendsInitialEvents === undefined;
  return isDefaulted ? { match: "NotOlderThan", sendsInitialEvents: true } : sent;
}

interface SentVersions {
  readonly resourceVersion: string;
  readonly match: string;
  readonly continueToken: string;
  readonly sendsInitialEvents: boolean | undefined;
}

const matchField = "resourceVersionMatch";
const forbiddenWithContinue = forbiddenField(matchField, "resourceVersionMatch is forbidden when continue is provided");

function validateList({ resourceVersion, match, continueToken, sendsInitialEvents }: SentVersions): FieldError[] {
  const faults: FieldError[] = [];
  if (match !== "") {
    if (resourceVersion === "") {
      faults.push(forbiddenField(matchField, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (continueToken !== "") faults.push(forbiddenWithContinue);
    faults.push(...validateChoice(matchField, { value: match, supported: ["Exact", "NotOlderThan", ""] }));
    if (match === "Exact" && resourceVersion === "0") {
      const detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
      faults.push(forbiddenField(matchField, detail));
    }
  }
  if (sendsInitialEvents !== undefined) {
    faults.push(forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return faults;
}

function validateWatch({ match, continueToken, sendsInitialEvents }: SentVersions): FieldError[] {
  const faults: FieldError[] = [];
  if (sendsInitialEvents !== undefined && match !== "NotOlderThan") {
    const detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    faults.push(forbiddenField(matchField, detail));
  }
  if (match !== "") {
    if (sendsInitialEvents === undefined) {
      const detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
      faults.push(forbiddenField(matchField, detail));
    }
    faults.push(...validateChoice(matchField, { value: match, supported: ["NotOlderThan"] }));
    if (continueToken !== "") faults.push(forbiddenWithContinue);
  }
  return faults;
}
