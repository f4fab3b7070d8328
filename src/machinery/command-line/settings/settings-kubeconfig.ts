import { readKubeconfig } from "../../client/kubeconfig/kubeconfig.ts";
import type { KubeconfigContext, KubeconfigSelection } from "../../client/kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../../client/kubeconfig/kubeconfig-error.ts";
import { UsageError } from "./flag.ts";

/** Reads the kubeconfig that a flag names. Throws UsageError. */
export function readSettingsKubeconfig(
  flag: string,
  selection: Pick<KubeconfigSelection, "file" | "isFollowed">,
): KubeconfigContext {
  try {
    return readKubeconfig({ ...selection, hasFlags: false });
  } catch (cause) {
    if (!(cause instanceof KubeconfigError)) throw cause;
    throw new UsageError(`--${flag}: ${cause.message}`, { cause });
  }
}
