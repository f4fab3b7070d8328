import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { nodeSpec } from "./node-spec.ts";
import { nodeStatus } from "./node-status.ts";

export const nodeSchema = object({
  goType: "v1.Node",
  description:
    "A machine, kept by its node agent. Node identities, and the tokens and certificates bound to them, refer to it.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: { number: 2, schema: nodeSpec, presence: "always", description: "What is wanted of the node." },
    status: { number: 3, schema: nodeStatus, presence: "always", description: "What the node agent reports." },
  },
});

export type Node = Infer<typeof nodeSchema>;
