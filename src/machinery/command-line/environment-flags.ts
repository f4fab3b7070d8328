/** The environment variable of a setting: `SIGNET_SECURE_PORT` for `secure-port`. */
export const environmentName = (flag: string): string => `SIGNET_${flag.toUpperCase().replaceAll("-", "_")}`;

/**
 * The values of flags that environment variables give. Other variables with this prefix are left alone: a Kubernetes cluster
 * with a Service named signet sets some in every Pod. An empty variable gives nothing.
 */
export function environmentFlags(
  names: Iterable<string>,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of names) {
    const value = environment[environmentName(name)];
    if (value !== undefined && value !== "") given[name] = value;
  }
  return given;
}
