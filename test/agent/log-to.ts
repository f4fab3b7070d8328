import type { AgentLog } from "../../src/agent/agent-log.ts";

/** A log whose lines of every level go to one function. */
export const logTo = (write: AgentLog["info"]): AgentLog => ({ info: write, warn: write, error: write });
