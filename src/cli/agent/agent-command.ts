import { hostname } from "node:os";
import { Command, Option } from "commander";
import type { AgentProgram } from "../../agent/agent-program.ts";
import { minimumExpirationText } from "../../features/certificates/resources.ts";
import {
  environmentName,
  UsageError,
  warnOfMisspelledVariables,
  withOrigin,
} from "../../machinery/command-line/settings/flag.ts";
import { logFormats, logLevels } from "../../machinery/command-line/settings/log-flags.ts";
import { withExamples } from "../../machinery/command-line/examples.ts";
import type { Example } from "../../machinery/command-line/examples.ts";
import { readAgentConfiguration } from "./agent-configuration.ts";
import type { AgentConfiguration } from "./agent-configuration.ts";
import type { AgentCommandLine } from "./agent-flags.ts";
import { parseAgentFlags, parseTimeout } from "./parse-agent-flags.ts";
import { argumentAction } from "../../machinery/command-line/argument-action.ts";

/** Keeps an empty value, which is refused, but none between commas. */
const collect = (value: string, previous: readonly string[] = []): readonly string[] => [
  ...previous,
  ...(value === "" ? [value] : value.split(",").filter((one) => one !== "")),
];

/** Not defaults of the flags: the help would show them as `[]`. */
const emptyLists = { server: [], nodeIp: [], dnsName: [], trustBundle: [] } as const;

interface SubcommandHelp {
  readonly description: string;
  readonly example: Example;
}

/** The two ways to start an agent: as a command of the complete Signet, and as a program of its own. */
export type AgentCommandPath = "signet agent" | "signet-agent";

type RunAgent = (program: AgentProgram) => Promise<void>;

/** `signet agent`, with the subcommands for a running agent. */
export function agent(path: AgentCommandPath, run: RunAgent): Command {
  const command = withFlags(new Command(path.split(" ").at(-1)))
    .description("maintain this machine's identity and the certificates of its services")
    .action(async (_flags: AgentCommandLine, self: Command) => run({ type: "run", ...sourceOf(self) }))
    // commander adds no help command to a command with an action of its own, unless asked to.
    .helpCommand("help [command]", "display help for command");
  // The flags above belong to the subcommands too: commander accepts them before and after the name of a subcommand.
  for (const subcommand of subcommands(path, run)) command.addCommand(subcommand);
  return withExamples(
    command,
    ["Introduce this machine by a bootstrap token", `${path} --kubeconfig bootstrap.kubeconfig`],
    [
      "Also keep a file with the CAs of a signer, and reload a program when it changes",
      `${path} --kubeconfig node.kubeconfig --trust-bundle signer=example.com/web:ca.pem --on-change "nginx -s reload"`,
    ],
    ["Keep the certificates of services too", `${path} --config /etc/signet/agent.yaml`],
  );
}

const withFlags = (command: Command): Command =>
  command
    .option("--config <file>", "YAML: everything below, and the certificates of services; read again when it changes")
    .option(
      "--server <url>",
      "https://host:port; repeat it for further servers, in order; default: the kubeconfig's",
      collect,
    )
    .option("--ca-file <file>", "PEM of the CA that the server's certificate must chain to; read again when it changes")
    .option("--kubeconfig <file>", "server, CA and bootstrap credential from a kubeconfig; read again when it changes")
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
    )
    .option("--dns-name <name>", "a DNS name of the machine besides the Node's; may be repeated", collect)
    .option(
      "--trust-bundle <source:file>",
      "keep a file with trust anchors: NAME:FILE for a bundle, signer=NAME:FILE for all of a signer; may be repeated",
      collect,
    )
    .option(
      "--on-change <command>",
      "run by sh -c when a file was written; SIGNET_CHANGE and SIGNET_CHANGED_FILE in its environment say which",
    )
    .option(
      "--certificate-lifetime <duration>",
      `how long the node's certificates are requested for, ${minimumExpirationText} at least; default: the signer's`,
    )
    .option("--lease-duration <duration>", "of the node's Lease, 10s at least; it is renewed four times in it", "40s")
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("info"))
    .addOption(
      new Option(
        "--log-format <format>",
        "how lines of the log are written; default: text on a terminal, json elsewhere",
      ).choices(logFormats),
    );

function subcommands(path: AgentCommandPath, run: RunAgent): readonly Command[] {
  const subcommand = (name: string, { description, example }: SubcommandHelp): Command =>
    withExamples(new Command(name).description(`${description}; takes the flags of ${path}`), example);
  const config = "--config /etc/signet/agent.yaml";
  return [
    subcommand("once", {
      description: "obtain or renew what is due, write files, run hooks, and end",
      example: ["Renew what is due, from cron or while an image is built", `${path} once ${config}`],
    })
      .option("--timeout <duration>", "end with code 6 after this time", "5m")
      .action(async ({ timeout }: { readonly timeout: string }, self: Command) =>
        run({ type: "once", timeoutMilliseconds: parseTimeout(timeout), ...sourceOf(self) }),
      ),
    subcommand("status", {
      description: "show the certificates, trust bundles and hooks of the agent that runs",
      example: ["See when each certificate is renewed next", `${path} status ${config}`],
    }).action(async (_flags: unknown, self: Command) => run({ type: "status", ...sourceOf(self) })),
    subcommand("check", {
      description: "check the configuration, the files, the port, each server and the trust bundles",
      example: ["Find out before the start what will not work", `${path} check ${config}`],
    }).action(async (_flags: unknown, self: Command) => run({ type: "check", ...sourceOf(self) })),
    subcommand("renew", {
      description: "tell the agent that runs to renew a certificate now",
      example: ["Replace the certificate named web in the configuration file", `${path} renew web ${config}`],
    })
      .argument("<name>", "client, serving, or the name of a certificate in the configuration file")
      .action(argumentAction(async (name, { self }) => run({ type: "renew", name, ...sourceOf(self) }))),
  ];
}

/**
 * The flags that environment variables such as SIGNET_NODE_NAME give, by the names of their values. An empty variable gives none. Throws
 * UsageError for a value that the flag refuses.
 */
function environmentOf(command: Command): Partial<AgentCommandLine> {
  // A subcommand has its own flags and those of signet agent.
  const options = [...command.options, ...(command.parent?.options ?? [])];
  // A hook may run a command of the agent. That command gets the variables of hooks too, so they are known.
  const names = [...options.map((option) => option.name()), "change", "changed-file"];
  warnOfMisspelledVariables(names, process.env);
  const given = options.flatMap((option) => {
    const variable = environmentName(option.name());
    const value = process.env[variable] ?? "";
    // Not the token: hooks inherit the agent's environment, and could read it.
    if (value === "" || option.name() === "bootstrap-token" || isOfKubernetes(value)) return [];
    try {
      return [[option.attributeName(), option.parseArg?.(value, []) ?? value]];
    } catch (cause) {
      throw new UsageError(`${variable}: ${JSON.stringify(value)}: ${(cause as Error).message}`, { cause });
    }
  });
  return Object.fromEntries(given) as Partial<AgentCommandLine>; // each value is parsed as its flag
}

/** Whether a value is one that a cluster sets in its Pods when it has a Service named signet: `SIGNET_PORT=tcp://10.0.0.1:6443`. */
const isOfKubernetes = (value: string): boolean => /^(tcp|udp|sctp):\/\//.test(value);

/** How the settings are read, at the start and after each change of their files. */
function sourceOf(command: Command): Pick<AgentProgram, "load" | "dataDirectory" | "configurationFile"> {
  const commandLine: AgentCommandLine = { ...emptyLists, ...command.optsWithGlobals() };
  const environment = environmentOf(command);
  const configurationFile = commandLine.config ?? environment.config;
  const given = Object.fromEntries(
    Object.entries(commandLine).filter(([name]) => command.getOptionValueSourceWithGlobals(name) === "cli"),
  );
  const configuration = (): AgentConfiguration => {
    if (configurationFile === undefined) return emptyConfiguration;
    try {
      return readAgentConfiguration(configurationFile);
    } catch (error) {
      const { config } = commandLine;
      throw withOrigin(error, { commandLine: { config }, environment: { config: configurationFile }, file: {} });
    }
  };
  const merged = ({ flags }: AgentConfiguration): AgentCommandLine => ({
    ...commandLine,
    ...flags,
    ...environment,
    ...given,
  });
  return {
    configurationFile,
    load() {
      const read = configuration();
      return parseAgentFlags(merged(read), read);
    },
    dataDirectory: () => merged(configuration()).dataDir,
  };
}

const emptyConfiguration: AgentConfiguration = { flags: {}, trustBundles: [], certificates: [], hook: undefined };
