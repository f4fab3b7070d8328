import { shortened } from "../machinery/api/format-value.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { answerFault } from "../machinery/client/answer-fault.ts";

/** Why work with a server has failed, for a log line: a server's text may be longer than a log takes. */
export const failureReason = (error: unknown): string => shortened(messageOf(answerFault(error)));
