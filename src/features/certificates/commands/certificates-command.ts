import { Command } from "commander";
import type { ApiList } from "../../../machinery/api/object-meta.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { fieldsText } from "../../../machinery/command-line/output/text-table.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { durationOption } from "../../../machinery/command-line/options.ts";
import { printList, printObject, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import { clusterTrustBundleResource, issuedCertificateResource } from "../resources.ts";
import { revocationResource, revocationsCommand, RevokedCertificates } from "../../revocation/index.ts";
import { renewCertificates } from "./certificates-renew.ts";
import { revokeCertificates } from "./certificates-revoke.ts";
import { findRecord } from "./find-record.ts";
import { hasNameWith, subjectFilterHelp } from "./names-filter.ts";
import { selectionOf } from "./selection-of.ts";
import { unrenewedCertificates } from "./unrenewed-certificates.ts";

/** `signet certificates list|describe|renew|revoke|revocations`: the inventory of issued certificates, and revocations. */
export const certificates = (): Command =>
  new Command("certificates")
    .alias("certificate")
    .description("obtain certificates, show the inventory of those that were issued, renew and revoke them")
    .addCommand(list())
    .addCommand(describe())
    .addCommand(renewCertificates())
    .addCommand(revokeCertificates())
    .addCommand(revocationsCommand("certificate"));

interface ListFlags extends ConnectionFlags, OutputFlags {
  readonly signer?: string;
  readonly user?: string;
  readonly subject?: string;
  /** Milliseconds. */
  readonly expiringWithin?: number;
  readonly unrenewed?: boolean;
}

const columns: readonly TextColumn<IssuedCertificate>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "SIGNER", cell: ({ spec }) => spec.signerName },
  { header: "SUBJECT", cell: ({ spec }) => spec.subject ?? "" },
  { header: "REQUESTER", cell: ({ spec }) => spec.username ?? "" },
  { header: "NOT AFTER", cell: ({ spec }) => spec.notAfter },
  { header: "REQUEST", cell: ({ spec }) => spec.requestName ?? "", isWide: true },
  { header: "SERIAL", cell: ({ spec }) => spec.serialNumber, isWide: true },
];

const list = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("list")))
      .description("list issued certificates, sorted by expiration")
      .option("--signer <name>", "only certificates of this signer")
      .option("--user <name>", "only certificates that this user requested")
      .option("--subject <text>", subjectFilterHelp)
      .addOption(
        durationOption(
          "--expiring-within <duration>",
          "only certificates that are valid now and expire within this time",
        ),
      )
      .option(
        "--unrenewed",
        "only valid certificates that signet certificates renew is to renew, and nobody has renewed yet",
      )
      .action((flags: ListFlags) =>
        withServer(flags, async (connection) => {
          const found = await findRecords(connection, flags);
          const items = found.items
            .filter((one) => hasNameWith(flags.subject, one) && endsWithin(flags.expiringWithin, one))
            .toSorted((one, other) => endOf(one) - endOf(other));
          const type = issuedCertificateResource(connection.names);
          printList({ ...found, items }, { flags, type, columns });
        }),
      ),
    ["Certificates that end in the next 30 days", "signet certificates list --expiring-within 30d"],
    [
      "Who has not renewed since signet certificates renew",
      "signet certificates list --signer example.com/services --unrenewed",
    ],
    ["Everything that was issued for a name", "signet certificates list --subject web.example.com -o wide"],
  );

async function findRecords(
  { client, names }: ServerConnection,
  { signer, user, unrenewed }: ListFlags,
): Promise<ApiList<IssuedCertificate>> {
  const records = client.resource(issuedCertificateResource(names));
  const ofSigner = { "spec.signerName": signer };
  if (unrenewed !== true) return listAll(records, selectionOf({ ...ofSigner, "spec.username": user }));
  // List all users: another user may have renewed a certificate of this user, as a node does for its bootstrap token.
  const found = await listAll(records, selectionOf(ofSigner));
  const { items: bundles } = await listAll(client.resource(clusterTrustBundleResource(names)), selectionOf(ofSigner));
  // A caller who may list certificates may not be allowed to list revocations.
  const revocations = await ignoreCodes([403, 404], listAll(client.resource(revocationResource(names))));
  if (revocations === undefined) {
    console.error("warning: revoked certificates may be in the list, because this user may not list revocations");
  }
  const revoked = new RevokedCertificates();
  for (const one of revocations?.items ?? []) revoked.add(one);
  const all = unrenewedCertificates(found.items, { names, bundles, revoked, now: Date.now() });
  return { ...found, items: all.filter(({ spec }) => user === undefined || spec.username === user) };
}

const endOf = ({ spec }: IssuedCertificate): number => Date.parse(spec.notAfter);

function endsWithin(milliseconds: number | undefined, certificate: IssuedCertificate): boolean {
  if (milliseconds === undefined) return true;
  const left = endOf(certificate) - Date.now();
  return left >= 0 && left <= milliseconds;
}

const describe = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("describe")))
      .description("show the record of an issued certificate")
      .argument(
        "<name>",
        "the record's name, or the certificate's serial number in hexadecimal digits",
        nameWithoutKind("issuedcertificate"),
      )
      .action((name: string, flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async (connection) => {
          const type = issuedCertificateResource(connection.names);
          const record = await findRecord(connection, name);
          printObject(record, { flags, type, text: () => recordText(record) });
        }),
      ),
    ["By the serial number that openssl prints", "signet certificates describe 5F:0A:99:C1"],
  );

const recordText = ({ metadata, spec }: IssuedCertificate): string =>
  fieldsText([
    ["Name:", metadata.name],
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
  ]);
