import { Command } from "commander";
import { withServer } from "../../../machinery/command-line/connection/connection.ts";
import { defaultUsages } from "../../../machinery/command-line/certificate-name-options.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { readInputFile } from "../../../machinery/command-line/input-file.ts";
import { repeatedOption } from "../../../machinery/command-line/options.ts";
import { parseCertificateRequest } from "../../../pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { decodePemBlocks, encodePem } from "../../../pki/pem.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { requestToSend, showSent, withSendFlags } from "./request-to-send.ts";
import type { SendFlags } from "./request-to-send.ts";
import { requestsOf } from "./requests-of.ts";

interface SubmitFlags extends SendFlags {
  readonly fromFile: string;
  readonly usage?: readonly string[];
}

export const submitCertificateRequest = (): Command =>
  withExamples(
    withSendFlags(
      new Command("submit")
        .description("send a certificate request that another program has made")
        .argument("<name>", "the request's name")
        .requiredOption("--from-file <file>", "PEM file with the PKCS #10 request; -: standard input")
        .addOption(
          repeatedOption(
            "--usage <usage>",
            "default: digital signature, and client auth or, for a DNS name or an IP address, server auth",
          ),
        ),
    ).action((name: string, flags: SubmitFlags) => submitRequest(name, flags)),
    [
      "The request of an appliance that keeps its key",
      "signet csr submit switch-7 --from-file switch-7.csr --signer example.com/services",
    ],
  );

async function submitRequest(name: string, flags: SubmitFlags): Promise<void> {
  const { pem, request } = await readRequest(flags.fromFile);
  const usages = flags.usage ?? defaultUsages(request.subjectAltNames);
  await withServer(flags, async (connection) => {
    const created = await requestsOf(connection).create(requestToSend(connection, { ...flags, name, pem, usages }));
    await showSent(connection, { created, flags });
  });
}

/** The PEM labels of requests. keytool, NSS and Windows write the second (RFC 7468 section 7). */
const requestLabels: ReadonlySet<string> = new Set(["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"]);

/** The only request of a file, also as a single plain PEM block, which servers and signers require. Throws UsageError. */
async function readRequest(file: string): Promise<{ readonly pem: string; readonly request: CertificateRequest }> {
  const text = await readInputFile({ flag: "from-file", file });
  const found = decodePemBlocks(text).filter(({ type }) => requestLabels.has(type));
  const [block] = found;
  if (block === undefined || found.length > 1) {
    const holds = found.length === 0 ? "no PKCS #10 request in PEM" : `${found.length} requests`;
    throw new UsageError(
      `--from-file: ${file} holds ${holds}; name a file with one (openssl req -in FILE -inform DER writes PEM)`,
    );
  }
  try {
    return { pem: encodePem("CERTIFICATE REQUEST", block.bytes), request: parseCertificateRequest(block.bytes) };
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause;
    throw new UsageError(`--from-file: ${file}: ${cause.message}; let its program make the request again`, { cause });
  }
}
