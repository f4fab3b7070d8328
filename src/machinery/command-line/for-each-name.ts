import { ApiError } from "../api/api-error.ts";
import { answerFault } from "../client/answer-fault.ts";
import { CommandFailure, SeveralFailures } from "./command-failure.ts";

/**
 * Does the work of a command for each name in turn. A name that the server refuses does not keep the later ones from being
 * done, as in kubectl. What is the same for all of them ends it: no connection, or no credentials. Throws what failed at the end.
 */
export async function forEachName(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const name of names) {
    try {
      await work(name);
    } catch (error) {
      failures.push(answerFault(error));
      if (!isRefusalOfOne(error)) break;
    }
  }
  if (failures.length > 1) throw new SeveralFailures(failures);
  if (failures.length === 1) throw failures[0];
}

/** An explained refusal has that of the server as its cause. */
function isRefusalOfOne(error: unknown): boolean {
  const refusal = error instanceof CommandFailure ? error.cause : error;
  return refusal instanceof ApiError && refusal.code !== 401;
}
