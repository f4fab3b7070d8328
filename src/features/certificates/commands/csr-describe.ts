import { Command } from "commander";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { objectName, print, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output.ts";
import { nodeResource } from "../../nodes/index.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { namesOfNode } from "../signers/node-names.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import type { RequestContext } from "./approval-warnings.ts";
import { certificateRequestReport } from "./certificate-request-report.ts";
import type { CertificateRequestReport } from "./certificate-request-report.ts";
import { certificateRequestText } from "./certificate-request-text.ts";
import { identityOfServer } from "./identity-of-server.ts";

export const describeCertificateRequest = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("describe")))
      .description("decode a request, and show what to check before approving it")
      .argument("<name>", "the request's name")
      .action((name: string, flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async (connection) => {
          const type = certificateSigningRequestResource(connection.names);
          const report = await reportFor(connection, await connection.client.resource(type).get(name));
          print(report, flags, { text: () => certificateRequestText(report), names: [objectName(type, name)] });
        }),
      ),
    ["What a request asks for", "signet csr describe ann"],
    ["Only the warnings", "signet csr describe ann -o json | jq .warnings"],
  );

/** A report with what only the server knows: its own names, and those of the requesting node. */
export async function reportFor(
  { client, names, transport, timeoutMilliseconds }: ServerConnection,
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
    identityOfServer(transport, timeoutMilliseconds),
    nodeName === undefined ? undefined : namesOf(nodeName),
  ]);
  return certificateRequestReport(names, request, { server, node });
}
