import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import type { container } from "./container.ts";
import { podSpec } from "./pod-spec.ts";
import { podStatus } from "./pod-status.ts";

export const podSchema = object({
  goType: "v1.Pod",
  description:
    "Programs that run together on a node. Signet keeps Pods, so that tokens can be bound to them; it runs none.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: { number: 2, schema: podSpec, presence: "always", description: "What the Pod runs, where, and as whom." },
    status: { number: 3, schema: podStatus, presence: "always", description: "What the node reports." },
  },
});

export type Pod = Infer<typeof podSchema>;
export type Container = Infer<typeof container>;
