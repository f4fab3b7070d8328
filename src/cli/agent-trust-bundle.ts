import type { TrustBundleFile } from "../agent/agent-settings.ts";
import { UsageError } from "../machinery/command-line/flag.ts";

const signerPrefix = "signer=";

/**
 * Reads `NAME:FILE` or `signer=NAME:FILE`. Names of bundles have colons themselves, so the file begins after the last one.
 * Throws UsageError.
 */
export function parseTrustBundleFile(text: string): TrustBundleFile {
  const colon = text.lastIndexOf(":");
  const name = text.slice(0, Math.max(0, colon));
  const file = text.slice(colon + 1);
  if (name === "" || name === signerPrefix || file === "") {
    throw new UsageError(`--trust-bundle: ${JSON.stringify(text)} is neither NAME:FILE nor signer=NAME:FILE`);
  }
  return name.startsWith(signerPrefix)
    ? { source: { signerName: name.slice(signerPrefix.length) }, file, hook: undefined }
    : { source: { bundleName: name }, file, hook: undefined };
}
