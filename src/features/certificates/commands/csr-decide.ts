import { Command } from "commander";
import { timestamp } from "../../../machinery/api/clock.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { confirm } from "../../../machinery/command-line/confirm.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { forEachName } from "../../../machinery/command-line/for-each-name.ts";
import { printObject, withOutputFlag, writeOutput } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import { conditionOf } from "../requests/certificate-request-state.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { awaitCertificate } from "./await-certificate.ts";
import { reportFor } from "./csr-describe.ts";
import { requestName, requestsOf } from "./requests-of.ts";

interface DecisionFlags extends ConnectionFlags, OutputFlags {
  readonly reason: string;
  readonly message?: string;
  readonly yes?: boolean;
  readonly wait?: boolean;
}

const decisionCommand = (verb: "approve" | "deny", reason: string): Command =>
  withOutputFlag(withConnectionFlags(new Command(verb)))
    .description(`${verb} certificate requests; this cannot be undone`)
    .argument("<name...>", "the requests' names")
    .option("--reason <word>", "the condition's reason", reason)
    .option("--message <text>", "the condition's message");

export const approveCertificateRequests = (): Command =>
  withExamples(
    decisionCommand("approve", "SignetApproved")
      .option("--yes", "approve without confirmation, even if there are warnings")
      .option("--wait", "wait until the certificate is issued")
      .action((given: readonly string[], flags: DecisionFlags) =>
        withServer(flags, (connection) =>
          forEachName(given.map(requestName), async (name) => {
            const request = await requestsOf(connection).get(name);
            refuseDecided(request, "Denied");
            if (flags.yes !== true) await confirmDespiteWarnings(connection, request);
            const approved = await decide(connection, { request, flags, type: "Approved" });
            const shown =
              flags.wait === true ? await awaitCertificate(connection, { name, uid: approved.metadata.uid }) : approved;
            const done = flags.wait === true ? "approved, and its certificate is issued" : "approved";
            show(connection, { request: shown, flags, text: `certificate request ${printable(name)} ${done}`, given });
          }),
        ),
      ),
    ["Look at a request, then approve it", "signet csr describe ann && signet csr approve ann"],
    ["Approve in a script, and wait for the certificate", "signet csr approve ann --yes --wait --timeout 1m"],
  );

export const denyCertificateRequests = (): Command =>
  withExamples(
    decisionCommand("deny", "SignetDenied").action((given: readonly string[], flags: DecisionFlags) =>
      withServer(flags, (connection) =>
        forEachName(given.map(requestName), async (name) => {
          const request = await requestsOf(connection).get(name);
          refuseDecided(request, "Approved");
          const denied = await decide(connection, { request, flags, type: "Denied" });
          show(connection, { request: denied, flags, text: `certificate request ${printable(name)} denied`, given });
        }),
      ),
    ),
    ["Deny a request, and say why", 'signet csr deny ann --message "ask for the group dev, not ops"'],
  );

/** Throws CommandFailure when the opposite decision was made. It is final, and the server's own error would be one of validation. */
function refuseDecided(request: CertificateSigningRequest, other: "Approved" | "Denied"): void {
  if (conditionOf(request, other) === undefined) return;
  const next =
    other === "Denied"
      ? "ask for another one (signet csr create)"
      : "once it is issued, signet certificates revoke ends its certificate";
  throw commandRefused(
    `request ${request.metadata.name ?? ""} was ${other.toLowerCase()} already, which cannot be undone; ${next}`,
  );
}

interface Decision {
  readonly request: CertificateSigningRequest;
  readonly flags: DecisionFlags;
  readonly type: "Approved" | "Denied";
}

/** Adds the condition to the version that was shown. Rejects with a conflict if the request has changed since. */
function decide(connection: ServerConnection, { request, flags, type }: Decision): Promise<CertificateSigningRequest> {
  const [verb, done] = type === "Approved" ? ["approve", "approved"] : ["deny", "denied"];
  const condition = {
    type,
    status: "True",
    reason: flags.reason,
    message: flags.message ?? `This request was ${done} by signet csr ${verb}.`,
    lastUpdateTime: timestamp(Date.now()),
  };
  const others = (request.status.conditions ?? []).filter((one) => one.type !== type);
  return requestsOf(connection).update(
    { ...request, status: { ...request.status, conditions: [...others, condition] } },
    { subresource: "approval" },
  );
}

interface Shown {
  readonly request: CertificateSigningRequest;
  readonly flags: OutputFlags;
  readonly text: string;
  /** The names of the requests, as given on the command line. */
  readonly given: readonly string[];
}

function show({ names }: ServerConnection, { request, flags, text, given }: Shown): void {
  if (flags.output === "yaml" && given.length > 1) writeOutput("---\n");
  printObject(request, { flags, type: certificateSigningRequestResource(names), text: () => text });
}

async function confirmDespiteWarnings(connection: ServerConnection, request: CertificateSigningRequest): Promise<void> {
  const { warnings } = await reportFor(connection, request);
  if (warnings.length === 0) return;
  for (const warning of warnings) console.error(`warning: ${printable(warning)}`);
  if (!(await confirm("Approve it anyway?"))) {
    throw new UsageError(
      `request ${request.metadata.name ?? ""} is not approved: check it with signet csr describe, or approve it anyway with --yes`,
    );
  }
}
