import { Command } from "commander";
import type { IssueProgram } from "../agent/issue-program.ts";
import { withConnectionFlags } from "../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { keyTypeOption } from "../machinery/command-line/key-type-option.ts";
import { durationOption, repeatedOption, secondsOf } from "../machinery/command-line/options.ts";
import { checkOutputFile } from "../machinery/command-line/output-file.ts";
import { dnsNameFault } from "../pki/dns-name.ts";
import { formatIpAddress, parseIpAddress } from "../pki/ip-address.ts";
import type { KeyType } from "../pki/keys.ts";

interface IssueFlags extends ConnectionFlags {
  readonly signer: string;
  readonly keyType: KeyType;
  readonly commonName?: string;
  readonly organization?: readonly string[];
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly email?: readonly string[];
  readonly uri?: readonly string[];
  readonly usage?: readonly string[];
  /** Milliseconds. */
  readonly lifetime?: number;
  readonly out: string;
  readonly keyOut?: string;
  readonly chainOut?: string;
  readonly renew?: boolean;
  readonly hook?: string;
}

const hookTimeoutMilliseconds = 60_000;
/** The shortest lifetime that a CertificateSigningRequest can ask for. */
const minimumLifetimeSeconds = 600;

/** `signet certificates issue`: one certificate in files, for those who run no agent. */
export const issueCertificate = (run: (program: IssueProgram) => Promise<void>): Command =>
  withExamples(
    withConnectionFlags(new Command("issue"))
      .description("obtain a certificate with a new key, or renew it when it is due, and write both to files")
      .argument("<name>", "names the certificate beside --out; its requests begin with it")
      .requiredOption("--signer <name>", "the signer")
      .requiredOption("--out <file>", "where to write the key, the certificate and its chain (PEM, 0600)")
      .option("--key-out <file>", "write the key here, and not to --out")
      .option("--chain-out <file>", "write the chain here, and not to --out; with --key-out")
      .addOption(repeatedOption("--dns <name>", "a DNS name"))
      .addOption(repeatedOption("--ip <address>", "an IP address"))
      .addOption(repeatedOption("--uri <uri>", "a URI"))
      .addOption(repeatedOption("--email <address>", "an e-mail address"))
      .option("--common-name <name>", "the subject's common name; default: the first DNS name, or NAME")
      .addOption(repeatedOption("--organization <name>", "the subject's organization"))
      .addOption(
        repeatedOption(
          "--usage <usage>",
          "default: digital signature, and client auth or, with --dns or --ip, server auth",
        ),
      )
      .addOption(
        durationOption("--lifetime <duration>", "how long it is requested for, 10m at least; default: the signer's"),
      )
      .addOption(keyTypeOption())
      .option("--renew", "wait without end, then keep renewing it until SIGINT or SIGTERM")
      .option("--hook <command>", "run by sh -c after the files have changed, for a minute at most")
      .action((name: string, flags: IssueFlags) => run(programOf(name, flags))),
    [
      "A serving certificate in one file; run it from cron: it renews only what is due",
      "signet certificates issue web --signer example.com/services --dns web.example.com --out web.pem",
    ],
    [
      "Keep it renewed in two files, and reload nginx each time",
      'signet certificates issue w --signer a.io/w --dns w.a.io --out w.crt --key-out w.key --renew --hook "nginx -s reload"',
    ],
  );

function programOf(name: string, flags: IssueFlags): IssueProgram {
  const { dns = [], ip = [], email = [], uri = [], organization = [], usage, lifetime, out, keyOut, chainOut } = flags;
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(name)) {
    throw new UsageError(`NAME: ${JSON.stringify(name)}: must be 1 to 40 lower case letters, digits and hyphens`);
  }
  for (const text of dns) {
    const fault = dnsNameFault(text, { allowsWildcard: true });
    if (fault !== undefined) throw new UsageError(`--dns: ${JSON.stringify(text)}: ${fault}`);
  }
  const lifetimeSeconds = lifetime === undefined ? undefined : secondsOf(lifetime);
  if (lifetimeSeconds !== undefined && lifetimeSeconds < minimumLifetimeSeconds) {
    throw new UsageError("--lifetime: no certificate can be requested for less than 10m");
  }
  if (chainOut !== undefined && keyOut === undefined) {
    throw new UsageError("--chain-out: give --key-out too; a file with the key has the whole chain");
  }
  const isServer = dns.length + ip.length > 0;
  for (const [flag, file] of Object.entries({ out, "key-out": keyOut, "chain-out": chainOut })) {
    if (file !== undefined) checkOutputFile({ flag, file });
  }
  return {
    name,
    wanted: {
      signerName: flags.signer,
      commonName: flags.commonName ?? dns[0] ?? name,
      organizations: organization,
      subjectAltNames: { dnsNames: dns, ipAddresses: ip.map(address), emailAddresses: email, uris: uri },
      usages: usage ?? ["digital signature", isServer ? "server auth" : "client auth"],
      keyType: flags.keyType,
    },
    lifetimeSeconds,
    files: { out, keyOut, chainOut },
    isRenewed: flags.renew === true,
    hook:
      flags.hook === undefined
        ? undefined
        : { command: flags.hook, check: undefined, timeoutMilliseconds: hookTimeoutMilliseconds },
    connection: flags,
  };
}

function address(text: string): string {
  const octets = parseIpAddress(text);
  if (octets !== undefined) return formatIpAddress(octets);
  throw new UsageError(`--ip: ${JSON.stringify(text)} is not an IP address; --dns is for DNS names`);
}
