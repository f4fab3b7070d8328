import { UnreadableAnswer } from "./transport.ts";

/**
 * Converts an error of code that uses a server's answers. When an answer comes, only its kind is checked, so a field of a wrong type throws
 * a TypeError or RangeError where it is used. This becomes an UnreadableAnswer. Other errors are returned unchanged.
 */
export const answerFault = (error: unknown): unknown =>
  error instanceof TypeError || error instanceof RangeError
    ? new UnreadableAnswer(`an answer is not what the API says, or this is a fault in Signet (${error.message})`, {
        cause: error,
      })
    : error;
