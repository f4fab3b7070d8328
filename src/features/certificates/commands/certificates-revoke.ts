import { Command } from "commander";
import { timestamp } from "../../../machinery/api/clock.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { readInputFile } from "../../../machinery/command-line/input-file.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import { serialNumberHex } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { issuedBeforeOption, reasonOption, revoke } from "../../revocation/index.ts";
import type { RevocationFlags } from "../../revocation/index.ts";
import { issuedCertificateResource } from "../resources.ts";
import { findRecord } from "./find-record.ts";

interface RevokeFlags extends RevocationFlags {
  readonly subject?: string;
  readonly file?: string;
}

/** The fields by which a revocation names one certificate. */
interface OneCertificate {
  readonly issuer: string;
  readonly serialNumber: string;
  readonly expirationTimestamp: string;
}

/** `signet certificates revoke`: ends certificates before they expire. */
export const revokeCertificates = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("revoke")))
      .description("refuse client certificates from the next request on")
      .argument(
        "[name]",
        "the record's name, or the certificate's serial number in hexadecimal digits",
        nameWithoutKind("issuedcertificate"),
      )
      .option("--file <file>", "the first certificate in a PEM file; -: standard input")
      .option("--subject <name>", "all certificates of a whole subject, such as CN=ann,O=ops; there are no patterns")
      .addOption(issuedBeforeOption("with --subject: only those that are valid from before; default: now"))
      .addOption(reasonOption())
      .action(async (name: string | undefined, flags: RevokeFlags) => {
        const { file, subject, issuedBefore } = flags;
        if ([name, file, subject].filter((way) => way !== undefined).length !== 1) {
          throw new UsageError("give one of: a name or serial number, --file, or --subject");
        }
        if (issuedBefore !== undefined && subject === undefined) {
          throw new UsageError("--issued-before: only a subject can have several certificates: give --subject too");
        }
        const inFile = file === undefined ? undefined : await readCertificate(file);
        await withServer(flags, async (connection) => {
          if (subject !== undefined) {
            await revoke(connection, {
              flags,
              targetAt: (now) => ({ certificate: { subject, issuedBefore: issuedBefore ?? now } }),
            });
            await warnOfUnknownSubject(connection, subject);
            return;
          }
          const { expirationTimestamp, ...certificate } = inFile ?? (await recorded(connection, name ?? ""));
          await revoke(connection, { flags, targetAt: () => ({ certificate, expirationTimestamp }) });
        });
      }),
    ["By the serial number that openssl prints", "signet certificates revoke 5F:0A:99:C1 --reason keyCompromise"],
    ["A certificate in a file", "signet certificates revoke --file laptop.crt"],
    ["Everything that a person has got so far", "signet certificates revoke --subject CN=ann,O=ops"],
  );

/** The first certificate of a file, a pipe or, for `-`, standard input. Throws UsageError. */
async function readCertificate(file: string): Promise<OneCertificate> {
  const pem = await readInputFile({ flag: "file", file });
  try {
    const [certificate] = parseCertificatesPem(pem);
    if (certificate === undefined) throw new PkiError("it has no certificate in PEM; name a file with one");
    return {
      issuer: formatDistinguishedName(certificate.issuer),
      serialNumber: serialNumberHex(certificate),
      expirationTimestamp: timestamp(certificate.notAfter),
    };
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause;
    throw new UsageError(`--file: ${file}: ${cause.message}`, { cause });
  }
}

async function recorded(connection: ServerConnection, name: string): Promise<OneCertificate> {
  const { issuer = "", serialNumber, notAfter } = (await findRecord(connection, name)).spec;
  return { issuer, serialNumber, expirationTimestamp: notAfter };
}

/**
 * Warns of a subject that no recorded certificate has: a differently written subject is revoked too, but matches nothing. Says nothing when
 * the caller may not list certificates.
 */
async function warnOfUnknownSubject({ client, names }: ServerConnection, subject: string): Promise<void> {
  const recorded = await ignoreCodes([403], listAll(client.resource(issuedCertificateResource(names))));
  if (recorded === undefined || recorded.items.some(({ spec }) => spec.subject === subject)) return;
  console.error("warning: no recorded certificate has exactly this subject; signet certificates list shows subjects");
}
