import { UnreadableAnswer } from "./transport.ts";

/**
 * What work with a server's answers has thrown. Only the kind of an answer is checked when it comes: a field of another type than was
 * promised shows where it is used. The TypeError or RangeError of that becomes an UnreadableAnswer; anything else stays as it is.
 */
export const answerFault = (error: unknown): unknown =>
  error instanceof TypeError || error instanceof RangeError
    ? new UnreadableAnswer(`an answer is not what the API says, or this is a fault in Signet (${error.message})`, {
        cause: error,
      })
    : error;
