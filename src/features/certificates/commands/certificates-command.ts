import { Command } from "commander";
import { parseDuration } from "../../../machinery/api/duration.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { connect, withConnectionFlags } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { print, table, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../../machinery/command-line/output.ts";
import { printable } from "../../../machinery/command-line/printable.ts";
import { issuedCertificateResource } from "../resources.ts";

/** `signet certificates list|describe`: the inventory of what was issued. */
export const certificates = (): Command =>
  new Command("certificates")
    .description("show the inventory of issued certificates")
    .addCommand(list())
    .addCommand(describe());

interface ListFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly signer?: string;
  readonly user?: string;
  readonly expiringWithin?: string;
}

const list = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("list")))
    .description("list issued certificates, sorted by expiration")
    .option("--signer <name>", "only certificates of this signer")
    .option("--user <name>", "only certificates that this user requested")
    .option(
      "--expiring-within <duration>",
      "only certificates that are valid now and expire within this time, such as 72h",
    )
    .action(async (flags: ListFlags) => {
      const isWanted = endsWithin(flags.expiringWithin);
      const { client, names } = await connect(flags);
      const selectors = [
        ...(flags.signer === undefined ? [] : [`spec.signerName=${flags.signer}`]),
        ...(flags.user === undefined ? [] : [`spec.username=${flags.user}`]),
      ];
      const found = await client
        .resource(issuedCertificateResource(names))
        .list(selectors.length > 0 ? { fieldSelector: selectors.join(",") } : {});
      const items = found.items.filter(isWanted).toSorted((one, other) => endOf(one) - endOf(other));
      print({ ...found, items }, flags.output, () =>
        table(
          ["NAME", "SIGNER", "SUBJECT", "REQUESTER", "NOT AFTER"],
          items.map(({ metadata, spec }) =>
            [metadata.name ?? "", spec.signerName, spec.subject ?? "", spec.username ?? "", spec.notAfter].map(
              printable,
            ),
          ),
        ),
      );
      client.close();
    });

const endOf = ({ spec }: IssuedCertificate): number => Date.parse(spec.notAfter);

function endsWithin(duration: string | undefined): (certificate: IssuedCertificate) => boolean {
  if (duration === undefined) return () => true;
  const milliseconds = parseDuration(duration);
  if (milliseconds === undefined) {
    throw new UsageError(`--expiring-within: ${JSON.stringify(duration)} is not a duration such as 90m or 72h`);
  }
  const now = Date.now();
  return (certificate) => endOf(certificate) >= now && endOf(certificate) <= now + milliseconds;
}

const describe = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("describe")))
    .description("show the record of an issued certificate")
    .argument("<name>", "the record's name, or the certificate's serial number in hexadecimal digits")
    .action(async (name: string, flags: ListFlags) => {
      const { client, names } = await connect(flags);
      const records = client.resource(issuedCertificateResource(names));
      const record =
        (await records.find(name)) ??
        (await records.list()).items.find(({ spec }) => spec.serialNumber === name.toLowerCase().replaceAll(":", ""));
      if (record === undefined)
        throw new UsageError(
          `there is no record of a certificate ${JSON.stringify(name)}: signet certificates list shows all`,
        );
      print(record, flags.output, () => recordText(record));
      client.close();
    });

function recordText({ metadata, spec }: IssuedCertificate): string {
  const lines: (readonly [string, string | readonly string[] | undefined])[] = [
    ["Signer:", spec.signerName],
    ["Subject:", spec.subject],
    ["DNS names:", spec.dnsNames],
    ["IP addresses:", spec.ipAddresses],
    ["E-mail:", spec.emailAddresses],
    ["URIs:", spec.uris],
    ["Not before:", spec.notBefore],
    ["Not after:", spec.notAfter],
    ["Issuer:", spec.issuer],
    ["Serial:", spec.serialNumber],
    ["SHA-256:", spec.fingerprint],
    ["Requester:", spec.username],
    ["Request:", `${spec.requestName ?? ""} (uid ${spec.requestUid ?? ""})`],
  ];
  return table(
    ["Name:", metadata.name ?? ""],
    lines
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => [label, printable(typeof value === "string" ? value : (value ?? []).join(", "))]),
  );
}
