import { readKubeconfig } from "../../client/kubeconfig/kubeconfig.ts";
import type { KubeconfigContext } from "../../client/kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../../client/kubeconfig/kubeconfig-error.ts";
import { UsageError } from "./flag.ts";

/** Reads the kubeconfig that a flag names, and that is read again when it changes. Throws UsageError. */
export function readSettingsKubeconfig(flag: string, file: string): KubeconfigContext {
  try {
    return readKubeconfig({ file, isFollowed: true, hasFlags: false });
  } catch (cause) {
    if (!(cause instanceof KubeconfigError)) throw cause;
    throw new UsageError(`--${flag}: ${cause.message}`, { cause });
  }
}
