import { ApiError } from "../api/api-error.ts";
import { answerFault } from "../client/answer-fault.ts";
import { CommandFailure, exitCodes, SeveralFailures } from "./command-failure.ts";

/**
 * Does the work of a command for each name in turn, as kubectl does: a name that is refused, is not confirmed or takes too long does not
 * stop the work for later names. A failure that concerns all of them does, such as no connection or refused credentials. Throws the
 * failures at the end.
 */
export async function forEachName(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const name of names) {
    try {
      await work(name);
    } catch (error) {
      failures.push(answerFault(error));
      if (!concernsOneName(error)) break;
    }
  }
  if (failures.length > 1) throw new SeveralFailures(failures);
  if (failures.length === 1) throw failures[0];
}

const exitsOfOneName: ReadonlySet<number> = new Set(
  [exitCodes.refused, exitCodes.pending, exitCodes.usage].map(({ code }) => code),
);

const concernsOneName = (error: unknown): boolean =>
  error instanceof CommandFailure
    ? exitsOfOneName.has(error.exitCode)
    : error instanceof ApiError && error.code !== 401;
