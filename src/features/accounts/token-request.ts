import { badRequest, conflict, invalid, notFound } from "../../machinery/api/api-error.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import { invalidValue, tooLong } from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { andThen } from "../../machinery/api/maybe-promise.ts";
import type { MaybePromise } from "../../machinery/api/maybe-promise.ts";
import type { Names } from "../../machinery/api/names.ts";
import { printKind, referencedKind } from "../../machinery/api/resource-type.ts";
import type { CreateSubresource } from "../../machinery/registry/definition/resource-definition.ts";
import type {
  AnswerCreate,
  ReviewAnswer,
  ReviewContext,
} from "../../machinery/registry/definition/review-definition.ts";
import { currentTrace } from "../../machinery/tracing/request-trace.ts";
import { defaultExpirationSeconds, tokenRequestSchema } from "./token-request-schema.ts";
import type { BoundObjectReference, TokenRequest } from "./token-request-schema.ts";
import type { ObjectClaim } from "./tokens/token-claims.ts";
import type { IssueToken, TokenSubject } from "./tokens/token-issuer.ts";
import type { TokenObjects } from "./tokens/token-objects.ts";
import { invalidNameParameter } from "../../machinery/registry/writes/requested-name.ts";

type BoundObjects = Pick<TokenSubject, "pod" | "secret" | "node">;

export interface TokenRequestOptions extends TokenObjects {
  readonly apiAudiences: readonly string[];
  /** Longer lifetimes are shortened to this, with a warning. Undefined: there is no limit. */
  readonly maximumExpirationSeconds: number | undefined;
  /** Whether tokens that node agents mount into Pods are extended to a year, because old clients never read the file again. */
  readonly isExpirationExtended: boolean;
  /** The longest lifetime of extended tokens, in seconds. Undefined: there is no limit. */
  readonly maximumExtendedSeconds: number | undefined;
  readonly issueToken: IssueToken;
}

const minimumSeconds = 600;
const maximumSeconds = 2 ** 32;
/** The most bytes of audiences as JSON. A token with more would not fit into a header, and would be too long for verification here. */
const maximumAudiencesBytes = 32 * 1024;
/** The exact lifetime that node agents request. No other client requests it by accident. */
const mountedTokenSeconds = 3607;
const extendedSeconds = 365 * 24 * 60 * 60;

/** `serviceaccounts/token`: the kinds of its request and response. */
export const tokenSubresource = (names: Names): CreateSubresource => ({
  type: "create",
  group: names.group("authentication"),
  version: "v1",
  kind: "TokenRequest",
  otherVersions: names.other === undefined ? [] : [{ group: names.other.group("authentication"), version: "v1" }],
  schema: tokenRequestSchema,
  confidentialFields: [["status", "token"]],
});

/** Issues tokens (upstream: `core/serviceaccount/storage.TokenREST`). A dry run issues a token as well. */
export const answerTokenRequest = (options: TokenRequestOptions): AnswerCreate => ({
  // The registry decoded the objects with the schema above.
  prepareForCreate: (object, context) => completed(object as TokenRequest, { context, options }),
  create: async (object, context) => answered(object as TokenRequest, { context, options }),
});

/** The request with its account, and with defaults. Throws ApiError for a request that does not fit the account. */
function completed(
  request: TokenRequest,
  { context, options }: { readonly context: Omit<ReviewContext, "isDryRun">; readonly options: TokenRequestOptions },
): TokenRequest {
  const { namespace, name, now, requestedGroup } = context;
  const kind = { group: requestedGroup, resource: "TokenRequest" };
  const nameFaults = metadataFaults(request, { namespace, name });
  if (nameFaults.length > 0) throw invalid(kind, { name, faults: nameFaults });
  const account = options.findServiceAccount(namespace, name);
  if (account === undefined)
    throw invalidNameParameter(name) ?? notFound({ group: "", resource: "serviceaccounts" }, name);
  const { uid } = account;
  const { uid: wantedUid = "" } = request.metadata;
  if (wantedUid !== "" && wantedUid !== uid) {
    const message = `the UID in the token request (${wantedUid}) does not match the UID of the service account (${uid})`;
    throw conflict(kind, { name, message });
  }
  const { boundObjectRef, expirationSeconds = defaultExpirationSeconds } = request.spec;
  const audiences = request.spec.audiences?.length ? request.spec.audiences : [...options.apiAudiences];
  const areTooLong = Buffer.byteLength(JSON.stringify(audiences)) > maximumAudiencesBytes;
  const faults = [
    ...expirationFaults(expirationSeconds),
    ...(areTooLong ? [tooLong("spec.audiences", maximumAudiencesBytes)] : []),
  ];
  if (faults.length > 0) throw invalid(kind, { faults });
  const metadata = { ...request.metadata, name, namespace, uid, creationTimestamp: timestamp(now) };
  return { ...request, metadata, spec: { audiences, boundObjectRef, expirationSeconds } };
}

/** The completed request with its token. Throws ApiError for an object to which no token can be bound. */
function answered(
  request: TokenRequest,
  { context, options }: { readonly context: ReviewContext; readonly options: TokenRequestOptions },
): MaybePromise<ReviewAnswer> {
  const { namespace, name, now } = context;
  const { boundObjectRef, expirationSeconds: requestedSeconds = defaultExpirationSeconds } = request.spec;
  const { uid = "" } = request.metadata;
  const audiences = request.spec.audiences ?? [];
  const bound =
    boundObjectRef === null ? {} : findBoundObject(boundObjectRef, { namespace, accountName: name, options });
  const { expirationSeconds, warnings } = atMostMaximum(requestedSeconds, options);
  const isExtended =
    options.isExpirationExtended &&
    bound.pod !== undefined &&
    expirationSeconds === mountedTokenSeconds &&
    audiences.every((audience) => options.apiAudiences.includes(audience));

  currentTrace()?.begin("sign");
  const issued = options.issueToken(
    { namespace, serviceAccount: { name, uid }, ...bound },
    {
      audiences,
      lifetimeSeconds: isExtended
        ? Math.min(extendedSeconds, options.maximumExtendedSeconds ?? extendedSeconds)
        : expirationSeconds,
      ...(isExtended && { warnAfterSeconds: expirationSeconds }),
    },
  );
  return andThen(issued, (token) => {
    const object = {
      ...request,
      spec: { audiences, boundObjectRef, expirationSeconds },
      status: { expirationTimestamp: timestamp(now + expirationSeconds * 1000), token },
    };
    return { object, warnings };
  });
}

/** The account in the body must be the one in the path. */
function metadataFaults(
  { metadata }: TokenRequest,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): FieldError[] {
  const mustMatch = (field: "name" | "namespace", expected: string): FieldError[] => {
    const value = metadata[field] ?? "";
    return value === "" || value === expected
      ? []
      : [invalidValue(`metadata.${field}`, { value, detail: `must match the service account ${field} if specified` })];
  };
  const nameFaults = mustMatch("name", name);
  return nameFaults.length > 0 ? nameFaults : mustMatch("namespace", namespace);
}

function expirationFaults(expirationSeconds: number): FieldError[] {
  const fault = (detail: string): FieldError[] => [
    invalidValue("spec.expirationSeconds", { value: expirationSeconds, detail }),
  ];
  if (expirationSeconds < minimumSeconds) return fault("may not specify a duration less than 10 minutes");
  if (expirationSeconds > maximumSeconds) return fault("may not specify a duration larger than 2^32 seconds");
  return [];
}

function atMostMaximum(
  expirationSeconds: number,
  { maximumExpirationSeconds: maximum }: TokenRequestOptions,
): { readonly expirationSeconds: number; readonly warnings: string[] } {
  if (maximum === undefined || expirationSeconds <= maximum) return { expirationSeconds, warnings: [] };
  const warning = `requested expiration of ${expirationSeconds} seconds shortened to ${maximum} seconds`;
  return { expirationSeconds: maximum, warnings: [warning] };
}

interface BindingContext {
  readonly namespace: string;
  readonly accountName: string;
  readonly options: TokenRequestOptions;
}

/** The object that a token will be bound to, with its current uid. */
function findBoundObject(reference: BoundObjectReference, context: BindingContext): BoundObjects {
  const { name = "", uid = "" } = reference;
  const type = referencedKind(reference);
  const { group, kind } = type;
  if (group !== "" || !["Pod", "Secret", "Node"].includes(kind)) {
    throw badRequest(`cannot bind token to object of type ${printKind(type)}`);
  }
  if (name === "") throw badRequest("Name parameter required.");
  const invalidName = invalidNameParameter(name);
  if (invalidName !== undefined) throw invalidName;
  const { claim, bound } = lookUp({ kind, name }, context);
  if (uid !== "" && claim.uid !== uid) {
    const message = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group, resource: kind }, { name, message });
  }
  return bound;
}

function lookUp(
  { kind, name }: { readonly kind: string; readonly name: string },
  { namespace, accountName, options }: BindingContext,
): { readonly claim: ObjectClaim; readonly bound: BoundObjects } {
  const found = <T>(resource: string, object: T | undefined): T => {
    if (object === undefined) throw notFound({ group: "", resource }, name);
    return object;
  };
  if (kind === "Secret") {
    const secret = { name, uid: found("secrets", options.findSecret(namespace, name)).uid };
    return { claim: secret, bound: { secret } };
  }
  if (kind === "Node") {
    const node = { name, uid: found("nodes", options.findNode(name)).uid };
    return { claim: node, bound: { node } };
  }
  const { uid, serviceAccountName, nodeName } = found("pods", options.findPod(namespace, name));
  if (serviceAccountName !== accountName) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(accountName)} to pod running with different serviceaccount name.`,
    );
  }
  const pod = { name, uid };
  const node = nodeName === undefined || nodeName === "" ? undefined : nodeClaim(nodeName, options);
  return { claim: pod, bound: { pod, ...(node !== undefined && { node }) } };
}

/** The node of a Pod. A node that is not registered is named without a uid. */
function nodeClaim(name: string, { findNode }: TokenRequestOptions): ObjectClaim {
  const uid = findNode(name)?.uid;
  return { name, ...(uid !== undefined && { uid }) };
}
