import { shortened } from "../machinery/api/text/format-value.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { answerFault } from "../machinery/client/answer-fault.ts";
import { UnreadableAnswer } from "../machinery/client/transport.ts";
import { fileFailureReason, namesPath } from "../machinery/files/unusable-file.ts";

/** Why work with a server or a file has failed, for a log line. Shortened, because a server's text may be longer than a log accepts. */
export function failureReason(error: unknown): string {
  if (namesPath(error)) return `cannot use ${error.path}: ${fileFailureReason(error)}`;
  const fault = answerFault(error);
  const reason = shortened(messageOf(fault));
  return fault instanceof UnreadableAnswer ? `${reason}; check the server's URL, and what is in front of it` : reason;
}
