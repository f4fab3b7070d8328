import type { Logger } from "pino";
import type { ApprovalPolicy } from "./approval-policy.ts";
import { parseApprovalPolicy } from "./parse-approval-policy.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Returns the current rules of the file of `--approval-policy`. Undefined without the flag. Throws UsageError for a
 * file that is invalid at the start. When it becomes invalid later, the old rules stay in force and the error is
 * logged.
 */
export function openApprovalPolicy(
  file: string | undefined,
  log: Pick<Logger, "info" | "error">,
): (() => ApprovalPolicy) | undefined {
  if (file === undefined) return undefined;
  const load = (): ApprovalPolicy =>
    parseSettingsFile(
      "approval-policy",
      file,
      (text) => {
        const parsed = parseApprovalPolicy(text);
        if (!parsed.isValid) throw new Error(parsed.faults.join("; "));
        return parsed.policy;
      },
      readFollowedFile,
    );
  let isOpen = false;
  return followFiles({
    files: [file],
    load() {
      const policy = load();
      if (isOpen) log.info({ file, rules: policy.rules.length }, "the approval policy was read again");
      isOpen = true;
      return policy;
    },
    onFailure: (error) =>
      log.error(
        { file, error: error instanceof Error ? error.message : String(error) },
        "the approval policy is invalid; the previous rules stay in force",
      ),
  });
}
