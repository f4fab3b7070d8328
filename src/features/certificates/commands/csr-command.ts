import { Command, Option } from "commander";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { printList, printObject, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { outputFile, writePublicOutput } from "../../../machinery/command-line/output/output-file.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { encodeCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { awaitCertificate } from "./await-certificate.ts";
import { chainOfRequest } from "./chain-of-request.ts";
import { certificateRequestSummary } from "../requests/certificate-request-state.ts";
import { createCertificateRequest } from "./csr-create.ts";
import { submitCertificateRequest } from "./csr-submit.ts";
import { approveCertificateRequests, denyCertificateRequests } from "./csr-decide.ts";
import { describeCertificateRequest } from "./csr-describe.ts";
import { isRequestFor, subjectFilterHelp } from "./names-filter.ts";
import { requestName, requestsOf } from "./requests-of.ts";
import { selectionOf } from "./selection-of.ts";

type CommonFlags = ConnectionFlags & OutputFlags;

/** `signet csr create|submit|list|describe|approve|deny|get`: certificate requests. */
export const csr = (): Command =>
  new Command("csr")
    .description("create, inspect, approve and deny certificate requests")
    .addCommand(createCertificateRequest())
    .addCommand(submitCertificateRequest())
    .addCommand(list())
    .addCommand(describeCertificateRequest())
    .addCommand(approveCertificateRequests())
    .addCommand(denyCertificateRequests())
    .addCommand(get());

const createdAt = ({ metadata }: CertificateSigningRequest): string => metadata.creationTimestamp ?? "";

const columns: readonly TextColumn<CertificateSigningRequest>[] = [
  { header: "NAME", cell: ({ metadata }) => metadata.name ?? "" },
  { header: "SIGNER", cell: ({ spec }) => spec.signerName },
  { header: "REQUESTER", cell: ({ spec }) => spec.username ?? "" },
  { header: "CREATED", cell: createdAt },
  { header: "STATE", cell: certificateRequestSummary },
  {
    header: "LIFETIME",
    cell: ({ spec }) => (spec.expirationSeconds === undefined ? "<none>" : `${spec.expirationSeconds}s`),
    isWide: true,
  },
  { header: "USAGES", cell: ({ spec }) => (spec.usages ?? []).join(","), isWide: true },
];

const list = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("list")))
      .description("list certificate requests, the newest first")
      .option("--signer <name>", "only requests for this signer")
      .option("--subject <text>", subjectFilterHelp)
      .action((flags: CommonFlags & { readonly signer?: string; readonly subject?: string }) =>
        withServer(flags, async (connection) => {
          const { signer, subject } = flags;
          const found = await listAll(requestsOf(connection), selectionOf({ "spec.signerName": signer }));
          const items = found.items
            .filter((one) => isRequestFor(subject, one))
            .toSorted((one, other) => createdAt(other).localeCompare(createdAt(one)));
          printList({ ...found, items }, { flags, type: certificateSigningRequestResource(connection.names), columns });
        }),
      ),
    ["All requests", "signet csr list"],
    ["The names of the requests for a web server, for a script", "signet csr list --subject web.example.com -o name"],
  );

interface GetFlags extends CommonFlags {
  readonly outputFile?: string;
  readonly wait?: boolean;
}

const get = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("get")))
      .description("write the certificate of a request: PEM, with its chain")
      .argument("<name>", "the request's name", requestName)
      .addOption(new Option("--output-file <file>", "where to write it; default: standard output").conflicts("output"))
      .option("--wait", "wait until the certificate is issued")
      .action(async (name: string, flags: GetFlags) => {
        const output = outputFile("--output-file", flags.outputFile);
        await withServer(flags, async (connection) => {
          const request =
            flags.wait === true ? await awaitCertificate(connection, { name }) : await requestsOf(connection).get(name);
          const pem = pemOf(request);
          if (output !== undefined) writePublicOutput(output, pem);
          else {
            const type = certificateSigningRequestResource(connection.names);
            printObject(request, { flags, type, text: () => pem.trimEnd() });
          }
        });
      }),
    ["Write the certificate to a file, as soon as it is issued", "signet csr get ann --wait --output-file ann.crt"],
  );

function pemOf(request: CertificateSigningRequest): string {
  const certificates = chainOfRequest(request);
  if (certificates.length > 0) return encodeCertificatesPem(certificates);
  const state = certificateRequestSummary(request);
  const name = request.metadata.name ?? "";
  const next =
    state === "Pending"
      ? `approve it with signet csr approve ${name}, or wait with --wait`
      : `look with signet csr describe ${name}`;
  throw commandRefused(`request ${name} has no certificate: it is ${state}; ${next}`);
}
