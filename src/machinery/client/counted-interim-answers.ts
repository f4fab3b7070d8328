/** RFC 9110 section 15.2: there may be several before the answer. Each makes work. */
const maximumInterimAnswers = 100;

/** Returns what to call for each interim answer to one request. `onTooMany` is called once. */
export function countedInterimAnswers(onTooMany: (error: Error) => void): () => void {
  let count = 0;
  return () => {
    if (++count === maximumInterimAnswers) onTooMany(new Error("the server sends interim answers without end"));
  };
}
