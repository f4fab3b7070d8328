import { Command } from "commander";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { postReview } from "../../../machinery/client/post-review.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { printObject, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import { publishedBundle } from "../bundles/bundle-names.ts";
import { recallAnnotation } from "../bundles/recall.ts";
import { clusterTrustBundleResource } from "../resources.ts";
import { ownSignerName } from "../signer-names.ts";
import { selectionOf } from "./selection-of.ts";

/** `signet certificates renew`: lets all agents renew their certificates of a signer. */
export const renewCertificates = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("renew")))
      .description("let all agents renew the certificates that a signer has issued until now")
      .argument("<signer>", "the signer, such as example.com/services")
      .action((signerName: string, flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async (connection) => {
          const { client, names } = connection;
          const type = clusterTrustBundleResource(names);
          const bundles = client.resource(type);
          const found = await bundles.listMetadata(selectionOf({ "spec.signerName": signerName }));
          // Prefer the bundle that the server publishes: its recall stays when somebody deletes the bundle.
          const published = publishedBundle(ownSignerName(names, signerName));
          const bundle = found.find(({ metadata }) => metadata.name === published) ?? found[0];
          if (bundle === undefined) {
            const advice = "signet trust list shows the signers that have one, signet trust create makes one";
            throw commandRefused(`the signer ${signerName} has no trust bundle to write it to: ${advice}`);
          }
          // A second later, so that all certificates that were issued so far are older.
          const issuedBefore = timestamp((await serverTime(connection)) + 1000);
          const annotations = { [recallAnnotation(names)]: issuedBefore };
          const marked = await bundles.patch(bundle.metadata.name ?? "", { body: { metadata: { annotations } } });
          const text = (): string =>
            `agents renew the certificates of ${printable(signerName)} that were issued before ${issuedBefore}, ` +
            "each at a random point from 6 to 36 minutes after that";
          printObject(marked, { flags, type, text });
        }),
      ),
    ["After signet ca switch example.com/services", "signet certificates renew example.com/services"],
  );

/** The server's time in milliseconds since the epoch. With a local clock that is behind, the newest certificates would not be recalled. */
async function serverTime({ client, names }: ServerConnection): Promise<number> {
  const group = names.group("authentication");
  const review = await postReview<ApiObject>(client, { group, kind: "SelfSubjectReview" });
  return Date.parse(review.metadata.creationTimestamp ?? "") || Date.now();
}
