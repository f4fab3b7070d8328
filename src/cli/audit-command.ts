import { Command } from "commander";
import type { ChainReport } from "../machinery/audit/chain/verify-chain.ts";
import { commandRefused } from "../machinery/command-line/command-failure.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { printable } from "../machinery/command-line/output/printable.ts";
import { parseSettingsFile, readFollowedFile } from "../machinery/command-line/settings/settings-files.ts";
import { counted } from "../machinery/command-line/output/counted.ts";

/** `signet audit`: checks the audit log as evidence. */
export const audit = (): Command =>
  new Command("audit").description("check the audit log of a server").addCommand(verify());

interface VerifyFlags {
  readonly publicKey?: string;
  readonly checkpoint?: string;
}

const verify = (): Command =>
  withExamples(
    new Command("verify")
      .description("check a log of --audit-log-chain: that no line was changed, moved or removed")
      .argument("<file...>", "the files of the log, in any order, compressed or not")
      .option("--public-key <file>", "the key that checkpoints must be signed by: audit-log.pub in the data directory")
      .option(
        "--checkpoint <file>",
        "the newest checkpoint, which the log must reach: audit-log.checkpoint in the data directory",
      )
      .action(async (files: readonly string[], flags: VerifyFlags) => {
        const report = await reportOn(files, flags);
        for (const line of reportLines(report, flags)) console.log(printable(line));
        if (report.faults.length === 0) return;
        throw commandRefused(
          `the log is not as it was written: ${counted(report.faults.length, "fault")}; keep a copy of it, and compare with a backup`,
        );
      }),
    [
      "A log, with the key and the newest checkpoint of the server",
      "signet audit verify /var/log/signet/audit*.log* --public-key audit-log.pub --checkpoint audit-log.checkpoint",
    ],
  );

/** Imports the code only when it is needed, because other commands do without it. */
async function reportOn(files: readonly string[], flags: VerifyFlags): Promise<ChainReport> {
  const { parsePublicKey } = await import("../machinery/audit/chain/chain-key.ts");
  const { verifyAuditChain } = await import("../machinery/audit/chain/verify-chain.ts");
  const publicKey =
    flags.publicKey === undefined
      ? undefined
      : parseSettingsFile({ flag: "public-key", file: flags.publicKey }, parsePublicKey);
  const checkpoint =
    flags.checkpoint === undefined ? undefined : readFollowedFile("checkpoint", flags.checkpoint).trimEnd();
  return verifyAuditChain({ files, publicKey, checkpoint });
}

function* reportLines(report: ChainReport, { publicKey, checkpoint }: VerifyFlags): Generator<string> {
  const { files, faults, signedUntil, signedLate, checkpoints } = report;
  for (const { file, lines, first, last } of files) {
    const count = counted(lines, "line");
    yield last === 0 ? `${file}: ${count}, none with a number` : `${file}: ${count}, numbers ${first} to ${last}`;
  }
  for (const fault of faults) yield `fault: ${fault}`;
  const first = files[0]?.first ?? 0;
  const last = files.at(-1)?.last ?? 0;
  if (first > 1) yield `note: the lines before number ${first} are not here`;
  for (const range of signedLate) yield `note: lines ${range} were signed only when the server continued after a crash`;
  if (signedUntil < last) {
    yield `note: no checkpoint covers the lines after number ${signedUntil} yet: they could be changed unseen`;
  }
  if (publicKey === undefined) {
    yield "note: signatures were not checked: a user who can write the log could have made all of it; give --public-key";
  }
  if (checkpoint === undefined) {
    yield "note: the end could be missing from a checkpoint on; give --checkpoint";
  }
  if (faults.length === 0) yield `the log is whole: the last of ${checkpoints} checkpoints is at number ${signedUntil}`;
}
