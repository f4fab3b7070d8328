import { leaseResource } from "./resources.ts";
import { forbiddenField, invalidValue, notSupported } from "../../machinery/api/field-error.ts";
import type { FieldError } from "../../machinery/api/field-error.ts";
import { qualifiedNameFaults } from "../../machinery/api/label-validation.ts";
import { validateDnsSubdomainName } from "../../machinery/api/name-validation.ts";
import type { Names } from "../../machinery/api/names.ts";
import { defineResource, onlyNameAndNamespaceSelectable } from "../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { int32, microTime, named, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/columns.ts";

const leaseSchema = object({
  goType: "v1.Lease",
  description: "A claim that its holder renews. Used for leader election and node heartbeats.",
  fields: {
    ...objectFields,
    spec: {
      number: 2,
      presence: "always",
      description: "The holder of the lease and its times.",
      schema: object({
        goType: "v1.LeaseSpec",
        description: "The holder of a lease and its times.",
        fields: {
          holderIdentity: { number: 1, schema: string, presence: "pointer", description: "The current holder." },
          leaseDurationSeconds: {
            number: 2,
            schema: int32,
            presence: "pointer",
            description: "Seconds after renewTime in which no other candidate may take the lease.",
          },
          acquireTime: { number: 3, schema: microTime, presence: "pointer", description: "When the holder got it." },
          renewTime: { number: 4, schema: microTime, presence: "pointer", description: "When it was last renewed." },
          leaseTransitions: {
            number: 5,
            schema: int32,
            presence: "pointer",
            description: "How often the holder has changed.",
          },
          strategy: {
            number: 6,
            schema: named(string, "v1.CoordinatedLeaseStrategy"),
            presence: "pointer",
            description: "The strategy of coordinated leader election.",
          },
          preferredHolder: {
            number: 7,
            schema: string,
            presence: "pointer",
            description: "The preferred next holder. Only with a strategy.",
          },
        },
      }),
    },
  },
});

export type Lease = Infer<typeof leaseSchema>;

export const leases = (names: Names): ResourceDefinition<Lease> =>
  defineResource({
    ...leaseResource(names),
    singular: "lease",
    schema: leaseSchema,
    validateName: validateDnsSubdomainName,
    validate,
    validateUpdate: validate,
    allowsCreateOnUpdate: true,
    allowsUnconditionalUpdate: false,
    unsupportedFieldLabel: onlyNameAndNamespaceSelectable,
    columns: [
      nameColumn(names),
      {
        name: "Holder",
        type: "string",
        description:
          "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
        cell: ({ spec }) => spec.holderIdentity ?? "",
      },
      ageColumn(names),
    ],
  });

function validate({ spec }: Lease): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder = "" } = spec;
  return [
    ...(leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0
      ? [invalidValue("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0")]
      : []),
    ...(leaseTransitions !== undefined && leaseTransitions < 0
      ? [invalidValue("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0")]
      : []),
    ...(strategy === undefined ? [] : validateStrategy(strategy)),
    ...(preferredHolder !== "" && (strategy ?? "") === ""
      ? [forbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined")]
      : []),
  ];
}

/** The only strategy that Kubernetes defines, or a name with a domain. */
function validateStrategy(strategy: string): FieldError[] {
  const field = "spec.strategy.strategy";
  if (strategy.includes("/")) return qualifiedNameFaults(strategy).map((fault) => invalidValue(field, strategy, fault));
  return strategy === "OldestEmulationVersion" ? [] : [notSupported(field, strategy, ["OldestEmulationVersion"])];
}
