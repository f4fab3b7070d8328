import { Command, Option } from "commander";
import { hostname } from "node:os";
import type { AgentSettings } from "../agent/agent-settings.ts";
import { parseDuration } from "../machinery/api/duration.ts";
import { validateDnsSubdomainName } from "../machinery/api/name-validation.ts";
import { formatIpAddress, parseIpAddress } from "../pki/ip-address.ts";
import { serverAccess } from "./agent-server-access.ts";
import type { ServerAccessFlags } from "./agent-server-access.ts";
import { parseTrustBundleFile } from "./agent-trust-bundle.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/flag.ts";

interface AgentFlags extends ServerAccessFlags {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly listenAddress: string;
  readonly port: string;
  readonly nodeIp: readonly string[];
  readonly dnsName: readonly string[];
  readonly trustBundle: readonly string[];
  readonly onChange?: string;
  readonly certificateLifetime?: string;
  readonly logLevel: string;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

/** `signet agent`: `run` is given the settings that the flags say. */
export const agent = (run: (settings: AgentSettings) => Promise<void>): Command =>
  withExamples(
    new Command("agent")
      .description("keep this machine's identity: its Node, certificates, trust bundles and Lease")
      .option("--server <url>", "the server: https://host:port; default: the kubeconfig's")
      .option(
        "--ca-file <file>",
        "PEM of the CA that the server's certificate must chain to; read again when it changes",
      )
      .option("--kubeconfig <file>", "takes server, CA and the credentials to begin with from a kubeconfig")
      .option("--bootstrap-token <token>", "introduces the machine; others on it can see it in the process list")
      .option("--bootstrap-token-file <file>", "the same from a file, which is read again at each use")
      .option("--client-certificate <file>", "PEM client certificate that introduces the machine, in place of a token")
      .option("--client-key <file>", "PEM private key of that certificate")
      .addOption(
        new Option("--node-name <name>", "the Node's name").default(
          hostname().toLowerCase(),
          "the machine's host name",
        ),
      )
      .option("--data-dir <folder>", "where keys and certificates are kept", "./.signet-agent")
      .option("--listen-address <address>", "where to serve /healthz and /metrics", "0.0.0.0")
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
        "how long certificates are asked for, 10m at least; default: the signer's",
      )
      .addOption(
        new Option("--log-level <level>", "what is logged")
          .choices(["debug", "info", "warn", "error", "silent"])
          .default("info"),
      )
      .action(async (flags: AgentFlags) => run(settingsOf(flags))),
    ["Introduce this machine by a bootstrap token", "signet agent --kubeconfig bootstrap.kubeconfig"],
    [
      "Also keep a file with the CAs of a signer, and reload a program when it changes",
      'signet agent --kubeconfig node.kubeconfig --trust-bundle signer=example.com/web:ca.pem --on-change "nginx -s reload"',
    ],
  );

function settingsOf(flags: AgentFlags): AgentSettings {
  const fault = validateDnsSubdomainName(flags.nodeName, { isPrefix: false })[0];
  if (fault !== undefined) throw new UsageError(`--node-name: ${JSON.stringify(flags.nodeName)}: ${fault}`);
  return {
    ...serverAccess(flags),
    nodeName: flags.nodeName,
    dataDirectory: flags.dataDir,
    listenAddress: flags.listenAddress,
    port: parsePort(flags.port),
    nodeIpAddresses: flags.nodeIp.map(parseAddress),
    dnsNames: flags.dnsName.map(parseDnsName),
    trustBundles: flags.trustBundle.map(parseTrustBundleFile),
    changeCommand: flags.onChange,
    certificateLifetimeSeconds: parseLifetime(flags.certificateLifetime),
    logLevel: flags.logLevel,
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

/** The shortest lifetime that a CertificateSigningRequest can ask for. */
const minimumLifetimeSeconds = 600;

function parseLifetime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Math.round((parseDuration(text) ?? 0) / 1000);
  if (seconds >= minimumLifetimeSeconds) return seconds;
  throw new UsageError(`--certificate-lifetime: ${JSON.stringify(text)} is not a duration of at least 10m`);
}
