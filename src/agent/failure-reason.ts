import { shortened } from "../machinery/api/text/format-value.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { answerFault } from "../machinery/client/answer-fault.ts";
import { fileFailureReason, namesPath } from "../machinery/files/unusable-file.ts";

/** Why work with a server or a file has failed, for a log line. Shortened, because a server's text may be longer than a log accepts. */
export const failureReason = (error: unknown): string =>
  namesPath(error) ? `cannot use ${error.path}: ${fileFailureReason(error)}` : shortened(messageOf(answerFault(error)));
