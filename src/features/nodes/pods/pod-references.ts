import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { Reference } from "../../../machinery/api/reference.ts";
import { compileReferences } from "../../../machinery/schema/references.ts";
import { podSchema } from "./pod-schema.ts";

/**
 * Every object in its namespace whose content a Pod gets (upstream: `VisitPodSecretNames`, `VisitPodConfigmapNames`,
 * `HasAPIObjectReference`). It decides what a node may read, what a mirror Pod must not use, and which Secrets an
 * account lets its Pods mount. The schema marks the fields that refer to objects.
 */
export const podReferences = (pod: ApiObject): Reference[] => (references ??= compileReferences(podSchema))(pod);

/** Made for the first Pod. */
let references: ((pod: unknown) => Reference[]) | undefined;
