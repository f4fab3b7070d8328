import { leaseResource } from "./resources.ts";
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
} from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { qualifiedNameFaults } from "../../machinery/api/validation/label-validation.ts";
import { validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../machinery/api/names.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { int32, microTime, named, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { always, pointer, struct } from "../../machinery/schema/struct.ts";

const leaseSchema = struct(
  "v1.Lease",
  "A claim that its holder renews. Used for leader election and node heartbeats.",
  {
    ...objectFields,
    spec: always(
      2,
      object({
        goType: "v1.LeaseSpec",
        description: "The holder of a lease and its times.",
        fields: {
          holderIdentity: pointer(1, string, "The current holder."),
          leaseDurationSeconds: pointer(
            2,
            int32,
            "Seconds after renewTime in which no other candidate may take the lease.",
          ),
          acquireTime: pointer(3, microTime, "When the holder got it."),
          renewTime: pointer(4, microTime, "When it was last renewed."),
          leaseTransitions: pointer(5, int32, "How often the holder has changed."),
          strategy: pointer(
            6,
            named(string, "v1.CoordinatedLeaseStrategy"),
            "The strategy of coordinated leader election.",
          ),
          preferredHolder: pointer(7, string, "The preferred next holder. Only with a strategy."),
        },
      }),
      "The holder of the lease and its times.",
    ),
  },
);

export type Lease = Infer<typeof leaseSchema>;

export const leases = (names: Names): ResourceDefinition<Lease> =>
  defineResource({
    ...leaseResource(names),
    schema: leaseSchema,
    validateName: validateDnsSubdomainName,
    allowsShortFinalizers: true,
    prepareForCreate: (lease) => withoutElection(lease, {}),
    prepareForUpdate: (next, { previous }) => withoutElection(next, previous.spec),
    validate,
    validateUpdate: (next) => ["metadata change", ...validate(next)],
    allowsCreateOnUpdate: true,
    allowsUnconditionalUpdate: false,
    columns: [
      nameColumn(names),
      {
        name: "Holder",
        description:
          "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
        cell: ({ spec }) => spec.holderIdentity ?? "",
      },
      ageColumn(names),
    ],
  });

/**
 * The Lease without those fields of coordinated leader election that its stored version lacks (upstream: the feature gate
 * CoordinatedLeaderElection, which is off).
 */
function withoutElection(lease: Lease, previous: Lease["spec"]): Lease {
  const { strategy, preferredHolder, ...spec } = lease.spec;
  // Nearly all Leases have neither field.
  if (strategy === undefined && preferredHolder === undefined) return lease;
  return {
    ...lease,
    spec: {
      ...spec,
      ...(strategy !== undefined && previous.strategy !== undefined && { strategy }),
      ...(preferredHolder !== undefined && previous.preferredHolder !== undefined && { preferredHolder }),
    },
  };
}

function validate({ spec }: Lease): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder = "" } = spec;
  return [
    ...(leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0
      ? [invalidValue("spec.leaseDurationSeconds", { value: leaseDurationSeconds, detail: "must be greater than 0" })]
      : []),
    ...(leaseTransitions !== undefined && leaseTransitions < 0
      ? [
          invalidValue("spec.leaseTransitions", {
            value: leaseTransitions,
            detail: "must be greater than or equal to 0",
          }),
        ]
      : []),
    ...(strategy === undefined ? [] : validateStrategy(strategy)),
    ...(preferredHolder !== "" && (strategy ?? "") === ""
      ? [forbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined")]
      : []),
  ];
}

/** Returns the faults of a strategy: it must be the only one that Kubernetes defines, or a name with a domain. */
function validateStrategy(strategy: string): FieldError[] {
  const field = "spec.strategy.strategy";
  if (strategy.includes("/")) return invalidValues(field, { value: strategy, details: qualifiedNameFaults(strategy) });
  return strategy === "OldestEmulationVersion"
    ? []
    : [notSupported(field, { value: strategy, supported: ["OldestEmulationVersion"] })];
}
