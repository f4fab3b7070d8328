import { entriesOf, parseSource } from "../../client/kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../../client/kubeconfig/kubeconfig-error.ts";
import { readConfig } from "../../client/kubeconfig/kubeconfig-files.ts";
import { newClusterName } from "../../client/kubeconfig/new-kubeconfig.ts";
import { UsageError } from "../settings/flag.ts";
import { outputFile } from "./output-file.ts";
import type { OutputFile } from "./output-file.ts";

/**
 * The file of an optional flag for a new kubeconfig of a user, as `outputFile` gives it. Throws UsageError for a file with other clusters
 * or users, such as `~/.kube/config`: their credentials may be the only copies.
 */
export function kubeconfigOutput(
  { namedBy, file }: { readonly namedBy: string; readonly file: string | undefined },
  user: string,
): OutputFile | undefined {
  const output = outputFile(namedBy, file);
  if (output === undefined || !holdsOthers(output.file, user)) return output;
  throw new UsageError(
    `${namedBy}: ${output.file} is a kubeconfig with other clusters or users and is not replaced; name another file, or remove it`,
  );
}

/** Whether the file holds other clusters or users. False for a file that is missing or is no kubeconfig. */
function holdsOthers(file: string, user: string): boolean {
  try {
    const { fields } = parseSource(readConfig(file, { isPipeRefused: true, hasFlags: false }), file);
    const hasOther = (list: string, own: string): boolean => entriesOf(fields, list).some(({ name }) => name !== own);
    return hasOther("clusters", newClusterName) || hasOther("users", user);
  } catch (error) {
    if (error instanceof KubeconfigError) return false;
    throw error;
  }
}
