import { certificateSigningRequestResource } from "../resources.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { ageColumn } from "../../../machinery/registry/columns.ts";
import { humanDuration } from "../../../machinery/registry/human-duration.ts";
import { certificateSigningRequestSchema } from "./certificate-signing-request-schema.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "./certificate-signing-request-schema.ts";
import { validateCertificateSigningRequest, validateStatusChange } from "./certificate-signing-request-validation.ts";

export const certificateSigningRequests = (names: Names): ResourceDefinition<CertificateSigningRequest> =>
  defineResource({
    ...certificateSigningRequestResource(names),
    singular: "certificatesigningrequest",
    shortNames: ["csr"],
    answersStatusOfDeletedCollection: true,
    schema: certificateSigningRequestSchema,
    // Any name that a path can carry.
    validateName: () => [],
    // Who asked is taken from the connection, never from the body; nobody creates an approved request.
    prepareForCreate: (request, { user }) => ({ ...request, spec: requestedBy(request.spec, user), status: {} }),
    validate: (request) => validateCertificateSigningRequest(request, names),
    prepareForUpdate: (next, previous) => ({ ...next, spec: previous.spec, status: previous.status }),
    resetFields: [["spec"], ["status"]],
    subresources: {
      approval: {
        type: "update",
        allowsTable: false,
        prepareForUpdate: (next, previous, { now }) => ({
          ...next,
          spec: previous.spec,
          status: withConditions(
            previous.status,
            withTimes(next.status.conditions ?? [], previous.status.conditions ?? [], now),
          ),
        }),
        validateUpdate: (next, previous) => validateStatusChange(next, previous, { subresource: "approval" }),
        resetFields: [["spec"], ["status", "certificate"]],
      },
      status: {
        type: "update",
        prepareForUpdate: (next, previous, { now }) => {
          const before = previous.status.conditions ?? [];
          const conditions = withDecisions(next.status.conditions ?? [], before);
          return {
            ...next,
            spec: previous.spec,
            status: withConditions(next.status, withTimes(conditions, before, now)),
          };
        },
        validateUpdate: (next, previous) => validateStatusChange(next, previous, { subresource: "status" }),
        resetFields: [["spec"], ["status", "conditions"]],
      },
    },
    selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },
    columns: [
      ageColumn(),
      {
        name: "SignerName",
        type: "string",
        description: "Who is asked to sign.",
        cell: ({ spec }) => (spec.signerName === "" ? "<none>" : spec.signerName),
      },
      {
        name: "Requestor",
        type: "string",
        description: "Who created the request.",
        cell: ({ spec }) => spec.username ?? "",
      },
      {
        name: "RequestedDuration",
        type: "string",
        description: "How long the certificate should be valid.",
        cell: ({ spec }) =>
          spec.expirationSeconds === undefined ? "<none>" : humanDuration(spec.expirationSeconds * 1000),
      },
      { name: "Condition", type: "string", description: "What was decided and issued.", cell: summaryOf },
    ],
  });

type Spec = CertificateSigningRequest["spec"];
type Status = CertificateSigningRequest["status"];
type Conditions = readonly CertificateSigningRequestCondition[];

function requestedBy(spec: Spec, { username, uid = "", groups, extra }: UserInfo): Spec {
  const { request, signerName, expirationSeconds, usages } = spec;
  return {
    request,
    signerName,
    ...(expirationSeconds !== undefined && { expirationSeconds }),
    ...(usages !== undefined && { usages }),
    username,
    ...(uid !== "" && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(Object.keys(extra).length > 0 && {
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    }),
  };
}

const withConditions = ({ certificate }: Status, conditions: Conditions): Status => ({
  ...(conditions.length > 0 && { conditions: [...conditions] }),
  ...(certificate !== undefined && { certificate }),
});

/**
 * Through `status` an approval or denial stays exactly as it is. Where one is missing or added, nothing is restored: the
 * validation then refuses the change.
 */
function withDecisions(conditions: Conditions, before: Conditions): Conditions {
  return ["Approved", "Denied"].reduce<Conditions>((all, type) => {
    const kept = before.filter((one) => one.type === type);
    if (kept.length !== all.filter((one) => one.type === type).length) return all;
    const rest = kept.values();
    return all.map((one) => (one.type === type ? (rest.next().value ?? one) : one));
  }, conditions);
}

/** Fills times that were left out: the transition's is kept while type and status stay the same. */
const withTimes = (conditions: Conditions, before: Conditions, now: number): Conditions =>
  conditions.map((one) => {
    const { lastUpdateTime = timestamp(now), lastTransitionTime = transitionTimeOf(one, before) ?? timestamp(now) } =
      one;
    return { ...one, lastUpdateTime, lastTransitionTime };
  });

const transitionTimeOf = (
  { type, status }: CertificateSigningRequestCondition,
  before: Conditions,
): string | undefined =>
  before.find((old) => old.type === type && old.status === status && old.lastTransitionTime !== undefined)
    ?.lastTransitionTime;

/** `Approved,Issued`, as kubectl shows a request's state. */
function summaryOf({ status }: CertificateSigningRequest): string {
  const types = new Set((status.conditions ?? []).map(({ type }) => type));
  return [
    types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending",
    ...(types.has("Failed") ? ["Failed"] : []),
    ...((status.certificate ?? "") === "" ? [] : ["Issued"]),
  ].join(",");
}
