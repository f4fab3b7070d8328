import { Command } from "commander";
import type { IssueProgram } from "../agent/issue/issue-program.ts";
import { lifetimeOption } from "../features/certificates/commands.ts";
import { minimumExpirationText } from "../features/certificates/resources.ts";
import { withConnectionFlags } from "../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection/connection.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { certificateNamesOf, withCertificateNameFlags } from "../machinery/command-line/certificate-name-options.ts";
import type { CertificateNameFlags } from "../machinery/command-line/certificate-name-options.ts";
import { keyTypeOption } from "../machinery/command-line/options.ts";
import { checkOutputFile } from "../machinery/command-line/output/output-file.ts";
import type { KeyType } from "../pki/keys/keys.ts";
import { certificateNameFault } from "./certificate-name.ts";
import { hookOfFlag } from "./hook-of-flag.ts";

interface IssueFlags extends ConnectionFlags, CertificateNameFlags {
  readonly signer: string;
  readonly keyType: KeyType;
  /** Seconds. */
  readonly lifetime?: number;
  readonly out: string;
  readonly keyOut?: string;
  readonly chainOut?: string;
  readonly renew?: boolean;
  readonly hook?: string;
}

/** `signet certificates issue`: one certificate in files, for machines without an agent. */
export const issue = (run: (program: IssueProgram) => Promise<void>): Command =>
  withExamples(
    withCertificateNameFlags(
      withConnectionFlags(new Command("issue"))
        .description(
          "obtain a certificate with a new key, or replace one that is due or revoked, and write both to files",
        )
        .argument("<name>", "names the certificate beside --out; its requests begin with it")
        .requiredOption("--signer <name>", "the signer")
        .requiredOption("--out <file>", "where to write the key, the certificate and its chain (PEM, 0600)")
        .option("--key-out <file>", "write the key here, and not to --out")
        .option("--chain-out <file>", "write the chain here, and not to --out; with --key-out"),
      "the first DNS name, or NAME",
    )
      .addOption(
        lifetimeOption(
          "--lifetime <duration>",
          `how long it is requested for, ${minimumExpirationText} at least; default: the signer's`,
        ),
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
  const { lifetime: lifetimeSeconds, out, keyOut, chainOut } = flags;
  const fault = certificateNameFault(name);
  if (fault !== undefined) throw new UsageError(`NAME: ${JSON.stringify(name)}: ${fault}`);
  const names = certificateNamesOf(flags, flags.dns?.[0] ?? name);
  if (chainOut !== undefined && keyOut === undefined) {
    throw new UsageError("--chain-out: give --key-out too; a file with the key has the whole chain");
  }
  for (const [namedBy, file] of Object.entries({ "--out": out, "--key-out": keyOut, "--chain-out": chainOut })) {
    if (file !== undefined) checkOutputFile({ namedBy, file, isForKey: namedBy !== "--chain-out" });
  }
  return {
    name,
    wanted: {
      signerName: flags.signer,
      ...names,
      keyType: flags.keyType,
    },
    lifetimeSeconds,
    files: { out, keyOut, chainOut },
    isRenewed: flags.renew === true,
    hook: hookOfFlag(flags.hook),
    connection: flags,
  };
}
