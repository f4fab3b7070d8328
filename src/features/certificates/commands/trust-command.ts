import { Command } from "commander";
import { readFileSync } from "node:fs";
import { timestamp } from "../../../machinery/api/clock.ts";
import { fingerprintOf } from "../../../pki/certificate.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";
import { parseCertificatesPem, validateTrustAnchors } from "../../../pki/trust-anchors.ts";
import type { ClusterTrustBundle } from "../bundles/cluster-trust-bundles.ts";
import { connect, withConnectionFlags } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { print, table, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../../machinery/command-line/output.ts";
import { printable } from "../../../machinery/command-line/printable.ts";
import { clusterTrustBundleResource } from "../resources.ts";

interface TrustFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly signer?: string;
}

/** `signet trust list|describe|create`: trust bundles. */
export const trust = (): Command =>
  new Command("trust")
    .description("show and publish trust bundles")
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

const list = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("list")))
    .description("list trust bundles, with the earliest expiration of their anchors")
    .option("--signer <name>", "only bundles of this signer")
    .action(async (flags: TrustFlags) => {
      const { client, names } = await connect(flags);
      const found = await client
        .resource(clusterTrustBundleResource(names))
        .list(flags.signer === undefined ? {} : { fieldSelector: `spec.signerName=${flags.signer}` });
      print(found, flags.output, () =>
        table(
          ["NAME", "SIGNER", "ANCHORS", "FIRST END"],
          found.items.map((bundle) => {
            const ends = anchorsOf(bundle).map(({ notAfter }) => notAfter);
            const { metadata, spec } = bundle;
            return [
              metadata.name ?? "",
              spec.signerName ?? "<none>",
              String(ends.length),
              ends.toSorted().at(0) ?? "<none>",
            ].map(printable);
          }),
        ),
      );
      client.close();
    });

const describe = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("describe")))
    .description("decode the anchors of a trust bundle")
    .argument("<name>")
    .action(async (name: string, flags: TrustFlags) => {
      const { client, names } = await connect(flags);
      const bundle = await client.resource(clusterTrustBundleResource(names)).get(name);
      const anchors = anchorsOf(bundle);
      const signerName = bundle.spec.signerName ?? "<none>";
      print({ name, signerName, anchors }, flags.output, () =>
        [
          `Name:     ${printable(name)}`,
          `Signer:   ${printable(signerName)}`,
          `Anchors:`,
          table(
            ["  SUBJECT", "NOT AFTER", "SHA-256"],
            anchors.map(({ subject, notAfter, fingerprint }) => [`  ${printable(subject)}`, notAfter, fingerprint]),
          ),
        ].join("\n"),
      );
      client.close();
    });

const create = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("create")))
    .description("publish CA certificates in a trust bundle")
    .argument("<name>", "a signer's bundle is named signer.example:name:anything")
    .requiredOption("--from-file <file>", "PEM file with the CA certificates")
    .option("--signer <name>", "the signer that the anchors belong to; default: none")
    .action(async (name: string, flags: TrustFlags & { readonly fromFile: string }) => {
      const trustBundle = readFileSync(flags.fromFile, "utf8");
      const faults = validateTrustAnchors(trustBundle);
      if (faults.length > 0) throw new UsageError(`--from-file: ${flags.fromFile}: ${faults.join("; ")}`);
      const { client, names } = await connect(flags);
      const { signer } = flags;
      const created = await client.resource(clusterTrustBundleResource(names)).create({
        apiVersion: `${names.group("certificates")}/v1beta1`,
        kind: "ClusterTrustBundle",
        metadata: { name },
        spec: { ...(signer !== undefined && { signerName: signer }), trustBundle },
      });
      print(created, flags.output, () => `trust bundle ${printable(name)} created`);
      client.close();
    });
