/** A kubeconfig cannot be used. The message is one line that names the file and what to do. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}
