import { after, getTestContext } from "node:test";

/** Does something at the end of the test or suite that runs now (also in its hooks), or of the file: also after a failure. */
export function afterWhatRuns(work: () => Promise<void>): void {
  const context = getTestContext();
  // In a hook, the function `after` would add to the hook itself.
  const end = context !== undefined && "after" in context ? context : { after };
  end.after(work);
}
