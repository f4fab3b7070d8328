import { objectFields } from "../../../../machinery/schema/meta-schemas.ts";
import { always, struct } from "../../../../machinery/schema/struct.ts";
import type { Infer } from "../../../../machinery/schema/schema.ts";
import type { container } from "./container.ts";
import { podSpec } from "./pod-spec.ts";
import { podStatus } from "./pod-status.ts";
import type { ApiObject } from "../../../../machinery/api/object-meta.ts";
import { compileReferences } from "../../../../machinery/schema/references.ts";
import type { Reference } from "../../../../machinery/schema/references.ts";

export const podSchema = struct(
  "v1.Pod",
  "Programs that run together on a node. Signet stores Pods so that tokens can be bound to them. It does not run them.",
  {
    ...objectFields,
    spec: always(2, podSpec, "What the Pod runs, on which node, and as which account."),
    status: always(3, podStatus, "What the node reports."),
  },
);

export type Pod = Infer<typeof podSchema>;
export type Container = Infer<typeof container>;
export type Volume = NonNullable<Pod["spec"]["volumes"]>[number];

// The path determines the type: the registry decodes objects with the schema of their resource.
export const asPod = (object: ApiObject): Pod => object as Pod;

/**
 * Every object in the Pod's namespace whose content the Pod gets (upstream: `VisitPodSecretNames`, `VisitPodConfigmapNames`,
 * `HasAPIObjectReference`). These references decide what a node may read, what a mirror Pod must not use, and which Secrets an account lets
 * its Pods mount. The schema marks the fields that refer to objects.
 */
export const podReferences = (pod: ApiObject): Reference[] => (references ??= compileReferences(podSchema))(pod);

/** Compiled for the first Pod. */
let references: ((pod: unknown) => Reference[]) | undefined;
