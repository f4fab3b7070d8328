import { WriteOutcomeUnknown } from "./store.ts";

/** Returns the answer to one of several writes that were sent together. Throws WriteOutcomeUnknown when the store gave too few answers. */
export function answerAt<Answer>(answers: readonly Answer[], index: number): Answer {
  const answer = answers[index];
  if (answer === undefined) throw new WriteOutcomeUnknown("the store answered fewer writes than it was sent");
  return answer;
}
