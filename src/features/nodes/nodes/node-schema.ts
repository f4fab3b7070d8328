import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { always, struct } from "../../../machinery/schema/struct.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { nodeSpec } from "./node-spec.ts";
import { nodeStatus } from "./node-status.ts";

export const nodeSchema = struct(
  "v1.Node",
  "A machine, registered by its node agent. Node identities, and the tokens and certificates bound to them, refer to it.",
  {
    ...objectFields,
    spec: always(2, nodeSpec, "The desired state of the node."),
    status: always(3, nodeStatus, "What the node agent reports."),
  },
);

export type Node = Infer<typeof nodeSchema>;
