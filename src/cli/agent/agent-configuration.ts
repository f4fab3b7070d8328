import { dirname, resolve } from "node:path";
import type { Hook, ServiceCertificate, TrustBundleFile, TrustStoreFormat } from "../../agent/agent-settings.ts";
import { parseDuration } from "../../machinery/api/duration.ts";
import { serverUrlFault } from "../../machinery/client/server-url-fault.ts";
import { dnsSubdomainFaults } from "../../machinery/api/validation/name-validation.ts";
import { Fields, refuseFaults } from "../../machinery/command-line/settings/fields.ts";
import { logFormats, logLevels } from "../../machinery/command-line/settings/log-flags.ts";
import { parseYamlSettings } from "../../machinery/command-line/settings/parse-yaml-settings.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import { parseIpAddress } from "../../pki/names/ip-address.ts";
import { parseServiceCertificate } from "./agent-service-certificate.ts";
import { leaseDurationFault, leaseSecondsOf } from "./agent-flags.ts";
import { lifetimeFault, lifetimeSecondsOf } from "../../features/certificates/resources.ts";
import type { AgentFlags } from "./agent-flags.ts";
import { defaultHookMilliseconds } from "../hook-of-flag.ts";
import { sharedFileFaults } from "./shared-file-faults.ts";
import { customaryPassword, readStorePassword } from "./store-password.ts";
import { SystemAccounts } from "./system-accounts.ts";

/** The settings in the file of `signet agent --config`. Flags of the command line take precedence over `flags`. */
export interface AgentConfiguration {
  readonly flags: Partial<AgentFlags>;
  readonly trustBundles: readonly TrustBundleFile[];
  readonly certificates: readonly ServiceCertificate[];
  readonly hook: Hook | undefined;
}

const apiVersion = "signet.platform.io/v1";
const kind = "AgentConfiguration";
const maximumEntries = 200;
const longestHookMilliseconds = 3_600_000;

/** Throws UsageError with every fault and the path of its field. Relative file names start at the folder of the file. */
export const readAgentConfiguration = (file: string): AgentConfiguration =>
  parseSettingsFile({ flag: "config", file, read: readFollowedFile }, (text) =>
    parseAgentConfiguration(text, dirname(file)),
  );

export function parseAgentConfiguration(text: string, folder: string): AgentConfiguration {
  const faults: string[] = [];
  const root = new Fields(parseYamlSettings(text), { path: "", faults });
  const configuration = configurationOf(root, folder);
  refuseFaults(faults);
  return configuration;
}

function configurationOf(root: Fields, folder: string): AgentConfiguration {
  root.type(apiVersion, kind);
  const flags = flagsOf(root, folder);
  const listed = <T>(name: string, parseOne: (value: Fields) => T): readonly T[] =>
    root.bounded(
      root.list(name, (value, path) => parseOne(root.at(value, path))),
      { name, maximum: maximumEntries },
    ) ?? [];
  const trustBundles = listed("trustBundles", (value) => parseTrustBundle(value, folder));
  const caBundle = parseCaBundle(root, flags.caFile);
  const accounts = new SystemAccounts();
  const certificates = listed("certificates", (value) =>
    parseServiceCertificate(value, { folder, hookOf: parseHook, accounts }),
  );
  const hook = parseHook(root, "onChange");
  root.refuseOthers();
  root.refuseSameNames("certificates", certificates);
  const configuration = { flags, trustBundles: [...trustBundles, ...caBundle], certificates, hook };
  root.faults.push(...sharedFileFaults({ flags, configuration, trustBundlesOfFlags: [] }));
  return configuration;
}

function flagsOf(root: Fields, folder: string): Partial<AgentFlags> {
  const fileOf = (name: string): string | undefined => {
    const file = root.text(name, emptyFault);
    return file === undefined ? undefined : resolve(folder, file);
  };
  const listen = root.fields("listen");
  const port = listen.integer("port", { from: 0, to: 65_535 });
  const listenAddress = listen.text("address", emptyFault);
  const nodeName = root.text("nodeName", subdomainFault);
  const logLevel = root.text("logLevel", choiceFault(logLevels));
  const logFormat = root.text("logFormat", choiceFault(logFormats));
  const certificateLifetime = root.text("certificateLifetime", (text) =>
    lifetimeSecondsOf(text) === undefined ? lifetimeFault : undefined,
  );
  const leaseDuration = root.text("leaseDuration", (text) =>
    leaseSecondsOf(text) === undefined ? leaseDurationFault : undefined,
  );
  const given = {
    server: root.texts("servers", serverUrlFault),
    caFile: fileOf("caFile"),
    kubeconfig: fileOf("kubeconfig"),
    bootstrapTokenFile: fileOf("bootstrapTokenFile"),
    clientCertificate: fileOf("clientCertificateFile"),
    clientKey: fileOf("clientKeyFile"),
    nodeName,
    dataDir: fileOf("dataDirectory"),
    listenAddress,
    port: port === undefined ? undefined : String(port),
    nodeIp: root.texts("nodeAddresses", (text) =>
      parseIpAddress(text) === undefined ? "must be an IP address" : undefined,
    ),
    dnsName: root.texts("dnsNames", (text) => subdomainFault(text.toLowerCase())),
    certificateLifetime,
    leaseDuration,
    logLevel,
    logFormat,
  };
  listen.refuseOthers();
  // A field that is left out leaves the flag's default in place.
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const emptyFault = (text: string): string | undefined => (text === "" ? "must not be empty" : undefined);

const subdomainFault = (text: string): string | undefined => dnsSubdomainFaults(text)[0];

const choiceFault =
  (choices: readonly string[]) =>
  (text: string): string | undefined =>
    choices.includes(text) ? undefined : `must be one of ${choices.join(", ")}`;

function parseTrustBundle(fields: Fields, folder: string): TrustBundleFile {
  const [name, signer] = [fields.text("name"), fields.text("signer")];
  const hook = parseHook(fields, "hook");
  if ((name === undefined) === (signer === undefined)) fields.fault("name", "give either name or signer");
  const format = fields.oneOf(["file", "pkcs12", "jks"]);
  const file = fields.text(format, emptyFault) ?? "";
  const store = format === "file" ? {} : { store: parseStore(fields, { type: format, folder }) };
  fields.refuseOthers();
  const source = signer === undefined ? { bundleName: name ?? "" } : { signerName: signer };
  return { source, file: resolve(folder, file), ...store, hook };
}

function parseStore(
  fields: Fields,
  { type, folder }: Pick<TrustStoreFormat, "type"> & { readonly folder: string },
): TrustStoreFormat {
  const given = fields.text("passwordFile", emptyFault);
  if (given === undefined) return { type, passwordFile: undefined, password: () => customaryPassword };
  const passwordFile = resolve(folder, given);
  return { type, passwordFile, password: () => readStorePassword(passwordFile) };
}

/** The trust bundle whose anchors the agent writes to the file of the server's CA. */
function parseCaBundle(root: Fields, caFile: string | undefined): TrustBundleFile[] {
  const bundleName = root.text("caBundle");
  if (bundleName === undefined) return [];
  if (caFile === undefined) root.fault("caBundle", "needs caFile, which it keeps up to date");
  return [{ source: { bundleName }, file: caFile ?? "", hook: undefined }];
}

function parseHook(parent: Fields, name: string): Hook | undefined {
  if (!parent.has(name)) return undefined;
  const fields = parent.fields(name);
  const command = fields.text("command");
  const check = fields.text("check");
  const timeout = fields.text("timeout");
  const timeoutMilliseconds = timeout === undefined ? defaultHookMilliseconds : (parseDuration(timeout) ?? 0);
  if (!command) fields.fault("command", "is required");
  if (timeoutMilliseconds <= 0 || timeoutMilliseconds > longestHookMilliseconds) {
    fields.fault("timeout", "must be a duration such as 30s, at most 1h");
  }
  fields.refuseOthers();
  return { command: command ?? "", check, timeoutMilliseconds };
}
