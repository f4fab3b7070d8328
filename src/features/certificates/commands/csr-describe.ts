import { Command } from "commander";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { objectName, print, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { nodeResource } from "../../nodes/index.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { namesOfNode } from "../signers/node-names.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import type { RequestContext } from "./approval-warnings.ts";
import { certificateRequestReport } from "./certificate-request-report.ts";
import type { CertificateRequestReport } from "./certificate-request-report.ts";
import { identityOfServer } from "./identity-of-server.ts";
import { requestName, requestsOf } from "./requests-of.ts";
import type { SubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { fieldsText } from "../../../machinery/command-line/output/text-table.ts";
import type { TextField } from "../../../machinery/command-line/output/text-table.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";

export const describeCertificateRequest = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("describe")))
      .description("decode a request, and show what to check before approving it")
      .argument("<name>", "the request's name", requestName)
      .action((name: string, flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async (connection) => {
          const type = certificateSigningRequestResource(connection.names);
          const report = await reportFor(connection, await requestsOf(connection).get(name));
          print(report, { flags, text: () => certificateRequestText(report), names: [objectName(type, name)] });
        }),
      ),
    ["What a request asks for", "signet csr describe ann"],
    ["Only the warnings", "signet csr describe ann -o json | jq .warnings"],
  );

/** A report on a request, with names that only the server knows: its own, and those of the requesting node. */
export async function reportFor(
  { client, names, transport, timeoutMilliseconds }: ServerConnection,
  request: CertificateSigningRequest,
): Promise<CertificateRequestReport> {
  const { username = "", signerName } = request.spec;
  const { holdsNodeNames = false } = findWellKnownSigner(names, signerName) ?? {};
  const nodeName = holdsNodeNames ? nodeNameOf(username) : undefined;
  const namesOfRequester = async (name: string): Promise<RequestContext["node"]> => {
    try {
      const node = await client.resource(nodeResource(names)).find(name);
      return node === undefined ? "not registered" : namesOfNode(node);
    } catch (error) {
      if (error instanceof ApiError && error.code === 403) return undefined;
      throw error;
    }
  };
  const [server, node] = await Promise.all([
    identityOfServer(transport, timeoutMilliseconds),
    nodeName === undefined ? undefined : namesOfRequester(nodeName),
  ]);
  return certificateRequestReport(request, { names, server, node });
}

const namesOf = ({ dnsNames, ipAddresses, emailAddresses, uris }: SubjectAltNames): string[] => [
  ...dnsNames.map((name) => `DNS:${name}`),
  ...ipAddresses.map((address) => `IP:${address}`),
  ...emailAddresses.map((address) => `email:${address}`),
  ...uris.map((uri) => `URI:${uri}`),
];

function certificateRequestText(report: CertificateRequestReport): string {
  const { request, signerRules, warnings } = report;
  const rules = !signerRules.areKnown
    ? "unknown: this command knows those of the signers that every server has"
    : signerRules.broken.length === 0
      ? "met"
      : "broken";
  const fields: TextField[] = [
    ["Name:", report.name],
    ["Created:", report.created],
    ["State:", report.state],
    ...report.conditions.map(({ type, reason = "", message = "" }) => [`  ${type}:`, `${reason}: ${message}`] as const),
    ["Requester:", report.requester.username],
    ["Groups:", report.requester.groups],
    ["Signer:", report.signerName],
    ["Signer's rules:", rules],
    ["Lifetime:", report.expirationSeconds === undefined ? "the signer's" : `${report.expirationSeconds} seconds`],
    ["Usages:", report.usages],
    ...(request === undefined
      ? []
      : ([
          ["Subject:", request.subject],
          ["Names:", namesOf(request.subjectAltNames)],
          ["Key:", request.key],
          ["Signature:", request.signatureAlgorithm],
          [
            "Extensions:",
            request.extensions.map(({ id, name, isCritical }) => `${name ?? id}${isCritical ? " (critical)" : ""}`),
          ],
        ] as const)),
    ["Warnings:", warnings.length === 0 ? "<none>" : ""],
  ];
  return [fieldsText(fields), ...warnings.map((warning) => `  ! ${printable(warning)}`)].join("\n");
}
