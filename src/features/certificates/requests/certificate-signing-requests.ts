import { ownSignerName } from "../signer-names.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { certificateSigningRequestColumns } from "./certificate-signing-request-columns.ts";
import { certificateSigningRequestSchema } from "./certificate-signing-request-schema.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "./certificate-signing-request-schema.ts";
import {
  startRequestValidation,
  startStatusValidation,
  validateStatusChange,
} from "./certificate-signing-request-validation.ts";

export const certificateSigningRequests = (names: Names): ResourceDefinition<CertificateSigningRequest> =>
  defineResource({
    ...certificateSigningRequestResource(names),
    shortNames: ["csr"],
    answersStatusOfDeletedCollection: true,
    // Counted by user, because nodes and holders of bootstrap tokens may create any number of requests.
    quotaUserOf: ({ spec }) => spec.username ?? "",
    // Only a part: the records of the certificates, which stay longer, share the user's quota.
    quotaShare: 1 / 4,
    schema: certificateSigningRequestSchema,
    // Any name that is valid in a path.
    validateName: () => [],
    // The requester comes from authentication, never from the body. A request cannot be created as approved.
    prepareForCreate: (request, { user }) => ({ ...request, spec: requestedBy(request.spec, user), status: {} }),
    startValidation: (request) => startRequestValidation(request, names),
    prepareForUpdate: (next, { previous }) => ({ ...next, spec: previous.spec, status: previous.status }),
    validateUpdate: () => ["metadata", "metadata change"],
    resetFields: [["spec"], ["status"]],
    subresources: {
      approval: {
        type: "update",
        allowsTable: false,
        prepareForUpdate: (next, { previous, now }) => ({
          ...next,
          spec: previous.spec,
          status: withConditions(
            previous.status,
            withTimes(next.status.conditions ?? [], { before: previous.status.conditions ?? [], now }),
          ),
        }),
        validateUpdate: (next, { previous }) => validateStatusChange(next, { previous, subresource: "approval" }),
        resetFields: [["spec"], ["status", "certificate"]],
      },
      status: {
        type: "update",
        prepareForUpdate: (next, { previous, now }) => {
          const before = previous.status.conditions ?? [];
          const conditions = withDecisions(next.status.conditions ?? [], before);
          return {
            ...next,
            spec: previous.spec,
            status: withConditions(next.status, withTimes(conditions, { before, now })),
          };
        },
        startUpdateValidation: startStatusValidation,
        resetFields: [["spec"], ["status", "conditions"]],
      },
    },
    selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },
    comparedAs: (_field, value) => ownSignerName(names, value),
    columns: certificateSigningRequestColumns(names),
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

const withConditions = ({ conditions: _conditions, ...status }: Status, conditions: Conditions): Status => ({
  ...(conditions.length > 0 && { conditions: [...conditions] }),
  ...status,
});

/** Restores the approval or denial of the stored request in an update of `status`. Validation refuses to remove one, or to add one. */
function withDecisions(conditions: Conditions, before: Conditions): Conditions {
  const decisions = new Map(
    before.filter(({ type }) => ["Approved", "Denied"].includes(type)).map((one) => [one.type, one]),
  );
  return conditions.map((one) => decisions.get(one.type) ?? one);
}

/** Sets omitted times of conditions. The transition time is kept while type and status stay the same. */
const withTimes = (
  conditions: Conditions,
  { before, now }: { readonly before: Conditions; readonly now: number },
): Conditions =>
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
