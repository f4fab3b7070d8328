import { createHash } from "node:crypto";
import { Command, Option } from "commander";
import { ApiError } from "../../machinery/api/api-error.ts";
import { parseTimestamp, timestamp } from "../../machinery/api/clock.ts";
import type { WriteOptions } from "../../machinery/client/api-client.ts";
import { withConnectionFlags, withServer } from "../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../machinery/command-line/examples.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { listAll } from "../../machinery/command-line/connection/list-all.ts";
import { printList, printObject, withOutputFlag } from "../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../machinery/command-line/output/output.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import type { TextColumn } from "../../machinery/command-line/output/text-table.ts";
import { revocationReasons } from "../../pki/revocation/revocation-reason.ts";
import { revocationResource } from "./resources.ts";
import type { Revocation } from "./resources.ts";
import { revokedText } from "./revocations.ts";

type Spec = Revocation["spec"];

export interface RevocationFlags extends ConnectionFlags, OutputFlags {
  readonly reason?: string;
  /** RFC 3339. */
  readonly issuedBefore?: string;
}

export const reasonOption = (): Option =>
  new Option("--reason <reason>", "why (RFC 5280 section 5.3.1)").choices(revocationReasons);

/** An option for a time, in the form of the API. */
export const issuedBeforeOption = (description: string): Option =>
  new Option("--issued-before <time>", description).argParser((text) => {
    const milliseconds = parseTimestamp(text);
    if (milliseconds !== undefined) return timestamp(milliseconds);
    const example = "2026-11-22T10:00:00Z, or 2026-11-22T12:00:00+02:00";
    throw new UsageError(`--issued-before: ${JSON.stringify(text)} is not a time such as ${example}`);
  });

/** Returns the credentials to revoke. `now` is the server's time: all credentials that were issued so far are older. */
export type RevocationTargetAt = (now: string) => Pick<Spec, "token" | "certificate" | "expirationTimestamp">;

/**
 * Revokes credentials, and prints a message. The name of the revocation follows from its content, so revoking twice changes nothing. The
 * time is the server's, because with a local clock that is behind, the newest credentials would stay valid.
 */
export async function revoke(
  { client, names }: ServerConnection,
  { flags, targetAt }: { readonly flags: RevocationFlags; readonly targetAt: RevocationTargetAt },
): Promise<void> {
  const type = revocationResource(names);
  const revocations = client.resource(type);
  const create = (spec: Spec, options: WriteOptions = {}): Promise<Revocation> => {
    const hash = createHash("sha256")
      .update(JSON.stringify([spec.token, spec.certificate]))
      .digest("hex");
    return revocations.create({ metadata: { name: hash.slice(0, 32) }, spec }, options);
  };
  const probe = await create({ token: { id: `a look at the clock ${process.pid}` } }, { isDryRun: true });
  const now = timestamp(Date.parse(probe.metadata.creationTimestamp ?? "") + 1000);
  const spec = { ...targetAt(now), ...(flags.reason !== undefined && { reason: flags.reason }) };
  let made: Revocation;
  let verb = "revoked";
  try {
    made = await create(spec);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
    made = await revocations.get(error.details?.name ?? "");
    verb = "was revoked already";
  }
  printObject(made, { flags, type, text: () => printable(`${revokedText(made.spec)} ${verb}`) });
}

const columns: readonly TextColumn<Revocation>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "REVOKED", cell: ({ spec }) => revokedText(spec) },
  { header: "REASON", cell: ({ spec }) => spec.reason ?? "unspecified" },
  { header: "SINCE", cell: ({ metadata }) => metadata.creationTimestamp ?? "" },
  { header: "KEPT UNTIL", cell: ({ spec }) => spec.expirationTimestamp ?? "<none>", isWide: true },
];

/** `signet token revocations`, `signet certificates revocations`: lists revocations. */
export const revocationsCommand = (of: "token" | "certificate"): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("revocations")))
      .description(`list the ${of}s that are revoked`)
      .action((flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async ({ client, names }) => {
          const type = revocationResource(names);
          const all = await listAll(client.resource(type));
          const items = all.items.filter(({ spec }) => spec[of] !== undefined);
          printList({ ...all, items }, { flags, type, columns });
        }),
      ),
    [
      "All of them, and how long they are kept",
      `signet ${of === "token" ? "token" : "certificates"} revocations -o wide`,
    ],
  );
