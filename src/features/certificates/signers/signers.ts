import type { Names } from "../../../machinery/api/names.ts";
import { apiserverClientNodeAgent } from "./apiserver-client-node-agent.ts";
import { apiserverClient } from "./apiserver-client.ts";
import { nodeAgentServing } from "./node-agent-serving.ts";
import type { Signer } from "./signer.ts";

/** The signers that `csrsigning` issues for. */
export const wellKnownSigners = (names: Names): readonly Signer[] => [
  apiserverClient(names),
  apiserverClientNodeAgent(names),
  nodeAgentServing(names),
];
