import type { Names } from "../../machinery/api/names.ts";
import { validateDnsLabelName } from "../../machinery/api/validation/name-validation.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { object } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { serviceResource } from "./resources.ts";

const serviceSchema = object({
  goType: "v1.Service",
  description: "A name for a set of Pods. This server has none, and none can be created.",
  fields: {
    ...objectFields,
  },
});

export type Service = Infer<typeof serviceSchema>;

/** Always an empty list, for clients that list Services first: `kubectl cluster-info` fails without it. */
export const services = (names: Names): ResourceDefinition<Service> =>
  defineResource({
    ...serviceResource(names),
    shortNames: ["svc"],
    verbs: ["get", "list", "watch"],
    schema: serviceSchema,
    validateName: validateDnsLabelName,
    // Kubelets select Services with an address.
    selectableFields: { "spec.clusterIP": () => "", "spec.type": () => "" },
    columns: [nameColumn(names), ageColumn(names)],
  });
