import type { Logger } from "pino";
import type { ApprovalPolicy } from "./approval-policy.ts";
import { parseApprovalPolicy } from "./parse-approval-policy.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * The rules of `--approval-policy` as the file is now; undefined without the flag. A file that is broken at the start is a UsageError; one that is broken
 * later leaves the old rules in force, and is logged.
 */
export function openApprovalPolicy(
  file: string | undefined,
  log: Pick<Logger, "error">,
): (() => ApprovalPolicy) | undefined {
  if (file === undefined) return undefined;
  return followFiles({
    files: [file],
    load: () =>
      parseSettingsFile(
        "approval-policy",
        file,
        (text) => {
          const parsed = parseApprovalPolicy(text);
          if (!parsed.isValid) throw new Error(parsed.faults.join("; "));
          return parsed.policy;
        },
        readFollowedFile,
      ),
    onFailure: (error) =>
      log.error(
        { file, error: error instanceof Error ? error.message : String(error) },
        "the approval policy cannot be used; the rules from before stay in force",
      ),
  });
}
