import { shortened } from "../machinery/api/format-value.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { answerFault } from "../machinery/client/answer-fault.ts";
import { fileFailureReason } from "../machinery/files/unusable-file.ts";

/** Why work with a server or a file has failed, for a log line: a server's text may be longer than a log takes. */
export const failureReason = (error: unknown): string =>
  isOfPath(error) ? `cannot use ${error.path}: ${fileFailureReason(error)}` : shortened(messageOf(answerFault(error)));

/** Whether the system refused a file or folder: its own text does not say what to do. */
const isOfPath = (error: unknown): error is Error & { readonly path: string } =>
  error instanceof Error && "path" in error && typeof error.path === "string";
