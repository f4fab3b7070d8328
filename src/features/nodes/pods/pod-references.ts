import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { Reference } from "../../../machinery/api/reference.ts";
import { referencesOf } from "../../../machinery/schema/references.ts";
import { podSchema } from "./pod-schema.ts";

/**
 * Every object in its namespace that a Pod gets the content of (upstream: `VisitPodSecretNames`, `VisitPodConfigmapNames`,
 * `HasAPIObjectReference`). The one answer for all who ask: what a node may read, what a mirror Pod may not use, and which
 * Secrets an account lets its Pods mount. The schema says which field refers to what.
 */
export const podReferences = (pod: ApiObject): Reference[] => referencesOf(podSchema, pod);
