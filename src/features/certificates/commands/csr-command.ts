import { Command } from "commander";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { namesOfNode } from "../signers/node-names.ts";
import type { RequestContext } from "./approval-warnings.ts";
import { certificateRequestReport, requestStateText } from "./certificate-request-report.ts";
import type { CertificateRequestReport } from "./certificate-request-report.ts";
import { certificateRequestText } from "./certificate-request-text.ts";
import { confirm } from "../../../machinery/command-line/confirm.ts";
import { connect, withConnectionFlags } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection.ts";
import { createRequest } from "./csr-create.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { identityOfServer } from "./identity-of-server.ts";
import { print, table, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../../machinery/command-line/output.ts";
import { outputFile, writePublicOutput } from "../../../machinery/command-line/output-file.ts";
import { printable } from "../../../machinery/command-line/printable.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { nodeResource } from "../../nodes/index.ts";

type CommonFlags = ConnectionFlags & { readonly output: OutputFormat };

/** `signet csr create|list|describe|approve|deny|get`: certificate requests. */
export const csr = (): Command =>
  new Command("csr")
    .description("create, inspect, approve and deny certificate requests")
    .addCommand(createRequest())
    .addCommand(list())
    .addCommand(describe())
    .addCommand(decide("approve"))
    .addCommand(decide("deny"))
    .addCommand(get());

const requestsOf = ({ client, names }: ServerConnection) => client.resource(certificateSigningRequestResource(names));

const list = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("list")))
    .description("list certificate requests, the newest first")
    .option("--signer <name>", "only requests for this signer")
    .action(async (flags: CommonFlags & { readonly signer?: string }) => {
      const connection = await connect(flags);
      const { signer } = flags;
      const found = await requestsOf(connection).list(
        signer === undefined ? {} : { fieldSelector: `spec.signerName=${signer}` },
      );
      const created = ({ metadata }: CertificateSigningRequest): string => metadata.creationTimestamp ?? "";
      const newest = found.items.toSorted((one, other) => created(other).localeCompare(created(one)));
      print({ ...found, items: newest }, flags.output, () =>
        table(
          ["NAME", "SIGNER", "REQUESTER", "CREATED", "STATE"],
          newest.map((request) => {
            const { metadata, spec } = request;
            return [
              metadata.name ?? "",
              spec.signerName,
              spec.username ?? "",
              created(request),
              requestStateText(request),
            ].map(printable);
          }),
        ),
      );
      connection.client.close();
    });

const describe = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("describe")))
    .description("decode a request, and show what to check before approving it")
    .argument("<name>")
    .action(async (name: string, flags: CommonFlags) => {
      const connection = await connect(flags);
      const report = await look(connection, await requestsOf(connection).get(name));
      print(report, flags.output, () => certificateRequestText(report));
      connection.client.close();
    });

interface DecisionFlags extends CommonFlags {
  readonly reason: string;
  readonly message?: string;
  readonly yes?: boolean;
}

const decisions = {
  approve: { type: "Approved", done: "approved" },
  deny: { type: "Denied", done: "denied" },
} as const;

function decide(verb: "approve" | "deny"): Command {
  const { type, done } = decisions[verb];
  const command = withOutputFlag(withConnectionFlags(new Command(verb)))
    .description(`${verb} a certificate request; this cannot be undone`)
    .argument("<name>")
    .option("--reason <word>", "the condition's reason", `Signet${type}`)
    .option("--message <text>", "the condition's message");
  if (verb === "approve") command.option("--yes", "approve without confirmation, even if there are warnings");
  return command.action(async (name: string, flags: DecisionFlags) => {
    const connection = await connect(flags);
    const request = await requestsOf(connection).get(name);
    if (verb === "approve" && flags.yes !== true) await refuseUnlessMeant(connection, request);
    const time = timestamp(Date.now());
    const condition = {
      type,
      status: "True",
      reason: flags.reason,
      message: flags.message ?? `This request was ${done} by signet csr ${verb}.`,
      lastUpdateTime: time,
    };
    const others = (request.status.conditions ?? []).filter((one) => one.type !== type);
    // The decision applies to the version that was shown: if the request has changed, this is a conflict.
    const decided = await requestsOf(connection).update(
      { ...request, status: { ...request.status, conditions: [...others, condition] } },
      { subresource: "approval" },
    );
    print(decided, flags.output, () => `certificate request ${printable(name)} ${done}`);
    connection.client.close();
  });
}

/** Adds to the report what only the server knows: its own names, and those of the requesting node. */
async function look(
  { client, names, transport }: ServerConnection,
  request: CertificateSigningRequest,
): Promise<CertificateRequestReport> {
  const { username = "", signerName } = request.spec;
  const { holdsNodeNames = false } = findWellKnownSigner(names, signerName) ?? {};
  const nodeName = holdsNodeNames ? nodeNameOf(username) : undefined;
  const namesOf = async (name: string): Promise<RequestContext["node"]> => {
    try {
      const node = await client.resource(nodeResource(names)).find(name);
      return node === undefined ? "not registered" : namesOfNode(node);
    } catch (error) {
      if (error instanceof ApiError && error.code === 403) return undefined;
      throw error;
    }
  };
  const [server, node] = await Promise.all([
    identityOfServer(transport),
    nodeName === undefined ? undefined : namesOf(nodeName),
  ]);
  return certificateRequestReport(names, request, { server, node });
}

async function refuseUnlessMeant(connection: ServerConnection, request: CertificateSigningRequest): Promise<void> {
  const { warnings } = await look(connection, request);
  if (warnings.length === 0) return;
  for (const warning of warnings) console.error(`warning: ${printable(warning)}`);
  if (!(await confirm("Approve it anyway?"))) {
    throw new UsageError("not approved: check the request with signet csr describe, or approve it anyway with --yes");
  }
}

interface GetFlags extends CommonFlags {
  readonly outputFile?: string;
}

const get = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("get")))
    .description("write the certificate of a request: PEM, with its chain")
    .argument("<name>")
    .option("--output-file <file>", "where to write it; default: standard output")
    .action(async (name: string, flags: GetFlags) => {
      const output = outputFile("output-file", flags.outputFile);
      const connection = await connect(flags);
      const request = await requestsOf(connection).get(name);
      const pem = Buffer.from(request.status.certificate ?? "", "base64").toString("utf8");
      if (pem === "") throw new UsageError(`request ${name} has no certificate: it is ${requestStateText(request)}`);
      if (output !== undefined) writePublicOutput(output, pem);
      else print(request, flags.output, () => pem.trimEnd());
      connection.client.close();
    });
