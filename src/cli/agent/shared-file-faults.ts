import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { AgentSettings, TrustBundleFile } from "../../agent/agent-settings.ts";
import type { CertificateOutput } from "../../agent/files/certificate-output.ts";
import { isOwnershipFile } from "../../machinery/files/folders/owned-folder.ts";
import type { AgentCommandLine } from "./agent-flags.ts";

interface FileSettings {
  readonly flags: Partial<AgentCommandLine>;
  readonly configuration: Pick<AgentSettings, "trustBundles" | "certificates">;
  /** The files of the flag --trust-bundle. */
  readonly trustBundlesOfFlags: readonly TrustBundleFile[];
}

/**
 * Finds files that two settings would write, or that one setting would write while the agent reads or keeps them: each would overwrite the
 * other's contents again and again. Follows links in the paths. Returns a line for each.
 */
export function sharedFileFaults({ flags, configuration, trustBundlesOfFlags }: FileSettings): string[] {
  const { trustBundles, certificates } = configuration;
  const outputs = certificates.flatMap((certificate, index) =>
    certificate.outputs.map((output, at) => ({ output, setting: `certificates[${index}].files[${at}]` })),
  );
  const bundles = [
    ...trustBundles.map((bundle, index) => ({ ...bundle, setting: `trustBundles[${index}]` })),
    ...trustBundlesOfFlags.map((bundle) => ({ ...bundle, setting: "--trust-bundle" })),
  ];
  const users = new Map<string, string>();
  const reads = (file: string | undefined, user: string): void => {
    if (file === undefined) return;
    users.set(placeOf(file), user);
    if (existsSync(file)) users.set(realpathSync.native(file), user);
  };
  reads(flags.config, "the configuration");
  reads(flags.kubeconfig, "the kubeconfig");
  reads(flags.bootstrapTokenFile, "the bootstrap token");
  reads(flags.clientCertificate, "the client certificate that introduces the machine");
  reads(flags.clientKey, "the key that introduces the machine");
  for (const { output, setting } of outputs) {
    if ("passwordFile" in output) reads(output.passwordFile, `the password of ${setting}`);
  }
  for (const { store, setting } of bundles) reads(store?.passwordFile, `the password of ${setting}`);
  const faults: string[] = [];
  const writes = (file: string, setting: string): void => {
    const place = placeOf(file);
    const user = isAgentsOwn(place, flags.dataDir) ? "the agent, in its data directory" : users.get(place);
    if (user === undefined) users.set(place, setting);
    else faults.push(`${setting}: ${file} is the file of ${user}`);
  };
  for (const { file, setting } of bundles) writes(file, setting);
  // The CA file may be one of the bundles' files, which then keeps it up to date.
  const isFollowed = bundles.some(({ file }) => placeOf(file) === placeOf(flags.caFile ?? ""));
  if (!isFollowed) reads(flags.caFile, "the server's CA");
  for (const { output, setting } of outputs) for (const file of writtenPaths(output)) writes(file, setting);
  return faults;
}

/**
 * The paths that an output writes. For an output of type folder, the folder itself counts too: its one newest version cannot serve two
 * certificates.
 */
function writtenPaths(output: CertificateOutput): readonly string[] {
  if (output.type !== "folder") return [output.file];
  const folder = withoutLinks(resolve(output.folder));
  return [folder, ...Object.values(output.names).map((name) => join(folder, name))];
}

const isAgentsOwn = (place: string, dataDirectory: string | undefined): boolean => {
  if (dataDirectory === undefined) return false;
  const folder = withoutLinks(resolve(dataDirectory));
  if (!place.startsWith(folder + sep)) return false;
  const [first = ""] = place.slice(folder.length + 1).split(sep);
  return ["pki", "hooks.json", "agent.sock"].includes(first) || isOwnershipFile(first);
};

/** Where a file is written. Links in its path are followed, but a link with its own name is replaced. */
const placeOf = (file: string): string => {
  const path = resolve(file);
  return join(withoutLinks(dirname(path)), basename(path));
};

/** A path whose existing part has no links. */
function withoutLinks(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  return dirname(path) === path ? path : join(withoutLinks(dirname(path)), basename(path));
}
