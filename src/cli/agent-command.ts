import { hostname } from "node:os";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { AgentProgram } from "../agent/agent-program.ts";
import type { AgentSettings, Hook, TrustBundleFile } from "../agent/agent-settings.ts";
import { minimumExpirationSeconds } from "../features/certificates/resources.ts";
import { parseDuration } from "../machinery/api/duration.ts";
import { validateDnsSubdomainName } from "../machinery/api/name-validation.ts";
import { environmentName, UsageError } from "../machinery/command-line/flag.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import type { Example } from "../machinery/command-line/examples.ts";
import { formatIpAddress, parseIpAddress } from "../pki/ip-address.ts";
import {
  leaseDurationFault,
  leaseSecondsOf,
  logFormats,
  logLevels,
  readAgentConfiguration,
  writtenFiles,
} from "./agent-configuration.ts";
import type { AgentConfiguration, AgentFlags } from "./agent-configuration.ts";
import { serverAccess } from "./agent-server-access.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";

interface CommandLine extends AgentFlags {
  readonly config?: string;
  readonly trustBundle: readonly string[];
  readonly onChange?: string;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [
  ...previous,
  ...value.split(",").filter((one) => one !== ""),
];

const hookTimeoutMilliseconds = 60_000;

interface SubcommandHelp {
  readonly description: string;
  readonly example: Example;
}

/** The two ways to start an agent: as a command of the whole of Signet, and as a program of its own. */
export type AgentCommandPath = "signet agent" | "signet-agent";

/** `signet agent`, and what one does with a running agent. */
export function agent(path: AgentCommandPath, run: (program: AgentProgram) => Promise<void>): Command {
  const command = new Command(path.split(" ").at(-1))
    .description("maintain this machine's identity and the certificates of its services")
    .option("--config <file>", "YAML: everything below, and the certificates of services; read again when it changes")
    .option(
      "--server <url>",
      "https://host:port; repeat it for further servers, in order; default: the kubeconfig's",
      collect,
      [],
    )
    .option("--ca-file <file>", "PEM of the CA that the server's certificate must chain to; read again when it changes")
    .option("--kubeconfig <file>", "server, CA and bootstrap credential from a kubeconfig")
    .option("--bootstrap-token <token>", "introduces the machine; other users can see it in the process list")
    .option("--bootstrap-token-file <file>", "a bootstrap token from a file, which is read at each use")
    .option("--client-certificate <file>", "PEM client certificate that introduces the machine, instead of a token")
    .option("--client-key <file>", "PEM private key of that certificate")
    .addOption(
      new Option("--node-name <name>", "the Node's name").default(hostname().toLowerCase(), "the machine's host name"),
    )
    .option("--data-dir <folder>", "where keys and certificates are kept", "./.signet-agent")
    .option("--listen-address <address>", "where to serve /livez, /readyz and /metrics", "127.0.0.1")
    .option("--port <number>", "the port for it; 0 picks a free one", "10250")
    .option(
      "--node-ip <address>",
      "an address of the machine; may be repeated; default: as seen by the server",
      collect,
      [],
    )
    .option("--dns-name <name>", "a DNS name of the machine besides the Node's; may be repeated", collect, [])
    .option(
      "--trust-bundle <source:file>",
      "keep a file with trust anchors: NAME:FILE for a bundle, signer=NAME:FILE for all of a signer; may be repeated",
      collect,
      [],
    )
    .option(
      "--on-change <command>",
      "run by sh -c when a file was written; SIGNET_CHANGE and SIGNET_CHANGED_FILE in its environment say which",
    )
    .option(
      "--certificate-lifetime <duration>",
      "how long the node's certificates are requested for, 10m at least; default: the signer's",
    )
    .option("--lease-duration <duration>", "of the node's Lease, 10s at least; it is renewed four times in it", "40s")
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("info"))
    .addOption(
      new Option(
        "--log-format <format>",
        "how lines of the log are written; default: text on a terminal, json elsewhere",
      ).choices(logFormats),
    )
    .action(async (_flags: CommandLine, self: Command) => run({ type: "run", ...sourceOf(self) }));
  // The flags above are theirs too: commander takes them before and after the name of a subcommand.
  const subcommand = (name: string, { description, example }: SubcommandHelp): Command =>
    withExamples(new Command(name).description(`${description}; takes the flags of ${path}`), example);
  const config = "--config /etc/signet/agent.yaml";
  command
    .addCommand(
      subcommand("once", {
        description: "obtain or renew what is due, write files, run hooks, and end",
        example: ["Renew what is due, from cron or while an image is built", `${path} once ${config}`],
      })
        .option("--timeout <duration>", "end with code 6 after this time", "5m")
        .action(async ({ timeout }: { readonly timeout: string }, self: Command) =>
          run({ type: "once", timeoutMilliseconds: parseTimeout(timeout), ...sourceOf(self) }),
        ),
    )
    .addCommand(
      subcommand("status", {
        description: "show the certificates, trust bundles and hooks of the agent that runs",
        example: ["See when each certificate is renewed next", `${path} status ${config}`],
      }).action(async (_flags: unknown, self: Command) => run({ type: "status", ...sourceOf(self) })),
    )
    .addCommand(
      subcommand("check", {
        description: "check the configuration, the files, the port, each server and the trust bundles",
        example: ["Find out before the start what will not work", `${path} check ${config}`],
      }).action(async (_flags: unknown, self: Command) => run({ type: "check", ...sourceOf(self) })),
    )
    .addCommand(
      subcommand("renew", {
        description: "tell the agent that runs to renew a certificate now",
        example: ["Replace the certificate named web in the configuration file", `${path} renew web ${config}`],
      })
        .argument("<name>", "client, serving, or the name of a certificate in the configuration file")
        .action(argumentAction(async (name, { self }) => run({ type: "renew", name, ...sourceOf(self) }))),
    );
  return withExamples(
    command,
    ["Introduce this machine by a bootstrap token", `${path} --kubeconfig bootstrap.kubeconfig`],
    [
      "Also keep a file with the CAs of a signer, and reload a program when it changes",
      `${path} --kubeconfig node.kubeconfig --trust-bundle signer=example.com/web:ca.pem --on-change "nginx -s reload"`,
    ],
    ["Keep the certificates of services too", `${path} ${config}`],
  );
}

/**
 * What environment variables say, by the names of the values of flags: SIGNET_NODE_NAME. An empty variable says nothing. Throws
 * UsageError for what a flag refuses.
 */
function environmentOf(command: Command): Partial<CommandLine> {
  // The flags of a subcommand are its own and those of signet agent.
  const options = [...command.options, ...(command.parent?.options ?? [])];
  const given = options.flatMap((option) => {
    const variable = environmentName(option.name());
    const value = process.env[variable] ?? "";
    // A hook's environment is the agent's: a token would be in it.
    if (value === "" || option.name() === "bootstrap-token" || isOfKubernetes(value)) return [];
    try {
      return [[option.attributeName(), option.parseArg?.(value, []) ?? value]];
    } catch (cause) {
      throw new UsageError(`${variable}: ${JSON.stringify(value)}: ${(cause as Error).message}`, { cause });
    }
  });
  return Object.fromEntries(given) as Partial<CommandLine>; // each is parsed as the flag is
}

/** What a cluster sets in its Pods when it has a Service named signet: `SIGNET_PORT=tcp://10.0.0.1:6443`. */
const isOfKubernetes = (value: string): boolean => /^(tcp|udp|sctp):\/\//.test(value);

/** How the settings are read, at the start and after each change of the configuration file. */
function sourceOf(command: Command): Pick<AgentProgram, "load" | "dataDirectory" | "configurationFile"> {
  const commandLine: CommandLine = command.optsWithGlobals();
  const environment = environmentOf(command);
  const configurationFile = commandLine.config ?? environment.config;
  const given = Object.fromEntries(
    Object.entries(commandLine).filter(([name]) => command.getOptionValueSourceWithGlobals(name) === "cli"),
  );
  const configuration = (): AgentConfiguration =>
    configurationFile === undefined ? emptyConfiguration : readAgentConfiguration(configurationFile);
  const merged = ({ flags }: AgentConfiguration): CommandLine => ({
    ...commandLine,
    ...flags,
    ...environment,
    ...given,
  });
  return {
    configurationFile,
    load() {
      const read = configuration();
      return settingsOf(merged(read), read);
    },
    dataDirectory: () => merged(configuration()).dataDir,
  };
}

const emptyConfiguration: AgentConfiguration = { flags: {}, trustBundles: [], certificates: [], hook: undefined };

function settingsOf(flags: CommandLine, configuration: AgentConfiguration): AgentSettings {
  const fault = validateDnsSubdomainName(flags.nodeName, { isPrefix: false })[0];
  if (fault !== undefined) throw new UsageError(`--node-name: ${JSON.stringify(flags.nodeName)}: ${fault}`);
  const hook: Hook | undefined =
    flags.onChange === undefined
      ? configuration.hook
      : { command: flags.onChange, check: undefined, timeoutMilliseconds: hookTimeoutMilliseconds };
  if (flags.dataDir === "") throw new UsageError("--data-dir is empty; name a folder (is a shell variable not set?)");
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
    hook,
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
  const octets = parseIpAddress(text);
  if (octets === undefined) throw new UsageError(`--node-ip: ${JSON.stringify(text)} is not an IP address`);
  return formatIpAddress(octets);
}

function parseDnsName(text: string): string {
  const name = text.toLowerCase();
  const fault = validateDnsSubdomainName(name, { isPrefix: false })[0];
  if (fault !== undefined) throw new UsageError(`--dns-name: ${JSON.stringify(text)}: ${fault}`);
  return name;
}

function parseLifetime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Math.round((parseDuration(text) ?? 0) / 1000);
  if (seconds >= minimumExpirationSeconds) return seconds;
  throw new UsageError(`--certificate-lifetime: ${JSON.stringify(text)} is not a duration of at least 10m`);
}

function parseLeaseDuration(text: string): number {
  const seconds = leaseSecondsOf(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--lease-duration: ${JSON.stringify(text)} ${leaseDurationFault}`);
}

function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text) ?? 0;
  if (milliseconds > 0) return milliseconds;
  throw new UsageError(`--timeout: ${JSON.stringify(text)} is not a duration such as 5m`);
}

/** Throws UsageError for a file that something else writes too: the two would replace it again and again. */
function trustBundlesOf(flags: CommandLine, configuration: AgentConfiguration): readonly TrustBundleFile[] {
  const given = flags.trustBundle.map(parseTrustBundleFile);
  const written = new Set(writtenFiles(configuration));
  for (const path of given.map(({ file }) => resolve(file))) {
    if (written.has(path)) {
      throw new UsageError(`--trust-bundle: ${path} is written for something else too; name a file of its own`);
    }
    written.add(path);
  }
  return [...configuration.trustBundles, ...given];
}

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
