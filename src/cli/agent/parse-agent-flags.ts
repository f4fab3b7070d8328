import type { AgentSettings, TrustBundleFile } from "../../agent/agent-settings.ts";
import { durationFault, parseDuration } from "../../machinery/api/duration.ts";
import { dnsSubdomainFaults } from "../../machinery/api/validation/name-validation.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { normalIpAddress } from "../../pki/names/ip-address.ts";
import type { AgentConfiguration } from "./agent-configuration.ts";
import { leaseDurationFault, leaseSecondsOf } from "./agent-flags.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../../features/certificates/resources.ts";
import type { AgentCommandLine } from "./agent-flags.ts";
import { serverAccess } from "./agent-server-access.ts";
import { hookOfFlag } from "../hook-of-flag.ts";
import { sharedFileFaults } from "./shared-file-faults.ts";

/**
 * Checks the flags, to which the caller has added the settings of the configuration file, and adds the settings that only that file can
 * have. Throws UsageError.
 */
export function parseAgentFlags(flags: AgentCommandLine, configuration: AgentConfiguration): AgentSettings {
  const fault = dnsSubdomainFaults(flags.nodeName)[0];
  if (fault !== undefined) throw new UsageError(`--node-name: ${JSON.stringify(flags.nodeName)}: ${fault}`);
  return {
    ...serverAccess(flags),
    nodeName: flags.nodeName,
    dataDirectory: flags.dataDir,
    listenAddress: flags.listenAddress,
    port: parsePort(flags.port),
    nodeIpAddresses: flags.nodeIp.map(parseAddress),
    dnsNames: flags.dnsName.map(parseDnsName),
    trustBundles: trustBundlesOf(flags, configuration),
    certificates: configuration.certificates,
    hook: hookOfFlag(flags.onChange) ?? configuration.hook,
    certificateLifetimeSeconds: parseLifetime(flags.certificateLifetime),
    leaseDurationSeconds: parseLeaseDuration(flags.leaseDuration),
    log: { level: flags.logLevel, format: flags.logFormat },
  };
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--port: ${JSON.stringify(text)} is not a port`);
}

function parseAddress(text: string): string {
  const normal = normalIpAddress(text);
  if (normal !== undefined) return normal;
  throw new UsageError(`--node-ip: ${JSON.stringify(text)} is not an IP address`);
}

function parseDnsName(text: string): string {
  const name = text.toLowerCase();
  const fault = dnsSubdomainFaults(name)[0];
  if (fault !== undefined) throw new UsageError(`--dns-name: ${JSON.stringify(text)}: ${fault}`);
  return name;
}

function parseLifetime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = lifetimeSecondsOf(text);
  if (seconds !== undefined) return seconds;
  const fault = parseDuration(text) === undefined ? durationFault(text) : lifetimeFault;
  throw new UsageError(`--certificate-lifetime: ${JSON.stringify(text)} ${fault}`);
}

function parseLeaseDuration(text: string): number {
  const seconds = leaseSecondsOf(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--lease-duration: ${JSON.stringify(text)} ${leaseDurationFault}`);
}

/** Parses the timeout of `signet agent once`, to milliseconds. Throws UsageError. */
export function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds;
  const fault = milliseconds === undefined ? durationFault(text) : "is not longer than 0";
  throw new UsageError(`--timeout: ${JSON.stringify(text)} ${fault}`);
}

/** The files of trust bundles. Throws UsageError for a file that something else writes, reads or keeps too. */
function trustBundlesOf(flags: AgentCommandLine, configuration: AgentConfiguration): readonly TrustBundleFile[] {
  const given = flags.trustBundle.map(parseTrustBundleFile);
  const faults = sharedFileFaults({ flags, configuration, trustBundlesOfFlags: given });
  if (faults.length > 0) throw new UsageError(`${faults.join("; ")}: name a file of its own`);
  return [...configuration.trustBundles, ...given];
}

const signerPrefix = "signer=";

/** Parses `NAME:FILE` or `signer=NAME:FILE`. Names of bundles contain colons, so the file begins after the last one. Throws UsageError. */
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
