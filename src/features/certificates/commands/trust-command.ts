import { Command } from "commander";
import { timestamp } from "../../../machinery/api/clock.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { fieldsText } from "../../../machinery/command-line/output/text-table.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import {
  objectName,
  print,
  printList,
  printObject,
  textTableOf,
  withOutputFlag,
} from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import { runToEnd } from "../../../machinery/api/run-to-end.ts";
import { readInputFile } from "../../../machinery/command-line/input-file.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { findAnchorFaults } from "../../../pki/certificates/trust-anchors.ts";
import type { ClusterTrustBundle } from "../bundles/cluster-trust-bundles.ts";
import { clusterTrustBundleResource } from "../resources.ts";
import { selectionOf } from "./selection-of.ts";

type CommonFlags = ConnectionFlags & OutputFlags;

/** `signet trust list|describe|create`: trust bundles. */
export const trust = (): Command =>
  new Command("trust")
    .description("show and publish trust bundles: the CAs that others should trust")
    .addCommand(list())
    .addCommand(describe())
    .addCommand(create());

interface Anchor {
  readonly subject: string;
  readonly notAfter: string;
  /** SHA-256 of the DER. */
  readonly fingerprint: string;
}

const anchorsOf = ({ spec }: ClusterTrustBundle): Anchor[] =>
  parseCertificatesPem(spec.trustBundle).map((anchor) => ({
    subject: formatDistinguishedName(anchor.subject),
    notAfter: timestamp(anchor.notAfter),
    fingerprint: fingerprintOf(anchor),
  }));

const columns: readonly TextColumn<ClusterTrustBundle>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "SIGNER", cell: ({ spec }) => spec.signerName ?? "<none>" },
  { header: "ANCHORS", cell: (bundle) => String(anchorsOf(bundle).length) },
  {
    header: "FIRST END",
    cell: (bundle) =>
      anchorsOf(bundle)
        .map(({ notAfter }) => notAfter)
        .toSorted()
        .at(0) ?? "<none>",
  },
];

const list = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("list")))
      .description("list trust bundles, with the earliest expiration of their anchors")
      .option("--signer <name>", "only bundles of this signer")
      .action((flags: CommonFlags & { readonly signer?: string }) =>
        withServer(flags, async ({ client, names }) => {
          const type = clusterTrustBundleResource(names);
          const found = await listAll(client.resource(type), selectionOf({ "spec.signerName": flags.signer }));
          printList(found, { flags, type, columns });
        }),
      ),
    ["The bundles of a signer", "signet trust list --signer example.com/services"],
  );

const anchorColumns: readonly TextColumn<Anchor>[] = [
  { header: "  SUBJECT", cell: ({ subject }) => `  ${subject}` },
  { header: "NOT AFTER", cell: ({ notAfter }) => notAfter },
  { header: "SHA-256", cell: ({ fingerprint }) => fingerprint },
];

const describe = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("describe")))
      .description("decode the CAs of a trust bundle")
      .argument("<name>", "the bundle's name", nameWithoutKind("clustertrustbundle"))
      .action((name: string, flags: CommonFlags) =>
        withServer(flags, async ({ client, names }) => {
          const type = clusterTrustBundleResource(names);
          const bundle = await client.resource(type).get(name);
          const anchors = anchorsOf(bundle);
          const signerName = bundle.spec.signerName ?? "<none>";
          const text = (): string =>
            [
              fieldsText([
                ["Name:", name],
                ["Signer:", signerName],
                ["Anchors:", ""],
              ]),
              textTableOf(anchors, { columns: anchorColumns, flags: { ...flags, output: "wide" } }),
            ].join("\n");
          print({ name, signerName, anchors }, { flags, text, names: [objectName(type, name)] });
        }),
      ),
    ["The CAs of a bundle, for a script", "signet trust describe example.com:services:ca -o json"],
  );

interface CreateFlags extends CommonFlags {
  readonly fromFile: string;
  readonly signer?: string;
}

const create = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("create")))
      .description("publish CA certificates in a trust bundle")
      .argument("<name>", "a signer's bundle is named signer.example:name:anything")
      .requiredOption("--from-file <file>", "PEM file with the CA certificates; -: standard input")
      .option("--signer <name>", "the signer that the anchors belong to; default: none")
      .action(async (name: string, flags: CreateFlags) => {
        const trustBundle = await readInputFile({ flag: "from-file", file: flags.fromFile });
        const faults = runToEnd(findAnchorFaults(trustBundle));
        if (faults.length > 0) {
          const advice = "name a file with only CA certificates in PEM";
          throw new UsageError(`--from-file: ${flags.fromFile}: ${faults.join("; ")}; ${advice}`);
        }
        await withServer(flags, async ({ client, names }) => {
          const { signer } = flags;
          const type = clusterTrustBundleResource(names);
          const created = await client.resource(type).create({
            metadata: { name },
            spec: { ...(signer !== undefined && { signerName: signer }), trustBundle },
          });
          printObject(created, { flags, type, text: () => `trust bundle ${printable(name)} created` });
        });
      }),
    ["Publish a CA", "signet trust create partners --from-file partners.pem"],
    [
      "Publish the CA of your own signer",
      "signet trust create example.com:services:ca --signer example.com/services --from-file services.pem",
    ],
  );
