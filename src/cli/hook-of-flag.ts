import type { Hook } from "../agent/agent-settings.ts";

/** How long the check and the command of a hook may each take when the hook has no timeout of its own. */
export const defaultHookMilliseconds = 60_000;

/** The hook that a flag gives: a command without a check. Undefined without the flag. */
export const hookOfFlag = (command: string | undefined): Hook | undefined =>
  command === undefined ? undefined : { command, check: undefined, timeoutMilliseconds: defaultHookMilliseconds };
