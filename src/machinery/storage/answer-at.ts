import { WriteOutcomeUnknown } from "./store.ts";

/** The answer to one of the writes that were made together. Throws WriteOutcomeUnknown when there are too few. */
export function answerAt<Answer>(answers: readonly Answer[], index: number): Answer {
  const answer = answers[index];
  if (answer === undefined) throw new WriteOutcomeUnknown("the store answered fewer writes than it was sent");
  return answer;
}
