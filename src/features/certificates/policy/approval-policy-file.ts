import type { ApprovalPolicy } from "./approval-policy.ts";
import { parseApprovalPolicy } from "./parse-approval-policy.ts";
import type { FollowedFiles } from "../../../machinery/files/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";

/**
 * Returns the current rules of the file of `--approval-policy`. Undefined without the flag. Throws UsageError for a
 * file that is invalid at the start. When it becomes invalid later, the old rules stay in force.
 */
export function openApprovalPolicy(
  file: string | undefined,
  followed: FollowedFiles,
): (() => ApprovalPolicy) | undefined {
  if (file === undefined) return undefined;
  return followed.follow({
    setting: "approval-policy",
    files: () => [file],
    load: () => parseSettingsFile("approval-policy", file, parseApprovalPolicy, readFollowedFile),
    describe: ({ rules }) => ({ rules: rules.length }),
  });
}
