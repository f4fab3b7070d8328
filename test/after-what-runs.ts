import { after, getTestContext } from "node:test";

/** Does something at the end of the current test or suite (also from its hooks), or of the file. Does it also after a failure. */
export function afterWhatRuns(work: () => void | Promise<void>): void {
  const context = getTestContext();
  // In a hook, the function `after` would add to the hook itself.
  const end = context !== undefined && "after" in context ? context : { after };
  end.after(work);
}
