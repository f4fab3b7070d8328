import { ownSignerName, signerNames } from "../signer-names.ts";
import { certificateRequestSummary } from "./certificate-request-state.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/columns.ts";
import { humanDuration } from "../../../machinery/registry/human-duration.ts";
import { certificateSigningRequestSchema } from "./certificate-signing-request-schema.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "./certificate-signing-request-schema.ts";
import { startRequestValidation, validateStatusChange } from "./certificate-signing-request-validation.ts";

export const certificateSigningRequests = (names: Names): ResourceDefinition<CertificateSigningRequest> =>
  defineResource({
    ...certificateSigningRequestResource(names),
    singular: "certificatesigningrequest",
    shortNames: ["csr"],
    answersStatusOfDeletedCollection: true,
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
        validateUpdate: (next, { previous }) => validateStatusChange(next, { previous, subresource: "status" }),
        resetFields: [["spec"], ["status", "conditions"]],
      },
    },
    selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },
    comparedAs: (_field, value) => ownSignerName(names, value),
    columns: [
      nameColumn(names),
      ageColumn(names),
      {
        name: "SignerName",
        type: "string",
        description:
          "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n" +
          ` 1. If it's a kubelet client certificate, it is assigned\n    "${signerNames.apiserverClientNodeAgent(names)}".\n` +
          ` 2. If it's a kubelet serving certificate, it is assigned\n    "${signerNames.nodeAgentServing(names)}".\n` +
          ` 3. Otherwise, it is assigned "${signerNames.legacyUnknown(names)}".\n` +
          "Distribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
        cell: ({ spec }) => (spec.signerName === "" ? "<none>" : spec.signerName),
      },
      {
        name: "Requestor",
        type: "string",
        description: "Base64-encoded PKCS#10 CSR data",
        cell: ({ spec }) => spec.username ?? "",
      },
      {
        name: "RequestedDuration",
        type: "string",
        description:
          "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\n" +
          "The v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\n" +
          "Certificate signers may not honor this field for various reasons:\n\n" +
          "  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n" +
          "  2. Signer whose configured maximum is shorter than the requested duration\n" +
          "  3. Signer whose configured minimum is longer than the requested duration\n\n" +
          "The minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
        cell: ({ spec }) =>
          spec.expirationSeconds === undefined ? "<none>" : humanDuration(spec.expirationSeconds * 1000),
      },
      {
        name: "Condition",
        type: "string",
        description: "Conditions applied to the request, such as approval or denial.",
        cell: certificateRequestSummary,
      },
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
 * An update of `status` keeps an existing approval or denial unchanged. When one is missing or added, nothing is
 * restored: validation then refuses the change.
 */
function withDecisions(conditions: Conditions, before: Conditions): Conditions {
  return ["Approved", "Denied"].reduce<Conditions>((all, type) => {
    const kept = before.filter((one) => one.type === type);
    if (kept.length !== all.filter((one) => one.type === type).length) return all;
    const rest = kept.values();
    return all.map((one) => (one.type === type ? (rest.next().value ?? one) : one));
  }, conditions);
}

/** Sets omitted times. The transition time is kept while type and status stay the same. */
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
