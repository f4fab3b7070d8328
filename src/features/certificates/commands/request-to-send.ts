import { withConnectionFlags } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import type { NewObject } from "../../../machinery/client/api-client.ts";
import { printObject, withOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import type { Command } from "commander";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { certificateSigningRequestResource, newSigningRequest } from "../resources.ts";
import type { CertificateSigningRequest } from "../resources.ts";
import { awaitCertificate } from "./await-certificate.ts";
import { lifetimeOption } from "./lifetime-option.ts";

/** The flags of the commands that send a certificate request. */
export interface SendFlags extends ConnectionFlags, OutputFlags {
  readonly signer?: string;
  /** Seconds. */
  readonly duration?: number;
  readonly wait?: boolean;
}

/** Adds the flags of `SendFlags`. */
export const withSendFlags = (command: Command): Command =>
  withOutputFlag(withConnectionFlags(command))
    .option("--signer <name>", "the signer; default: the signer for API clients")
    .addOption(
      lifetimeOption(
        "--duration <duration>",
        "the requested lifetime, such as 24h or 30d; default: the maximum of the signer",
      ),
    )
    .option("--wait", "wait until the certificate is issued, such as by an approval policy");

type RequestToSend = Pick<Parameters<typeof newSigningRequest>[0], "name" | "pem" | "usages">;

/** The object to create for a PKCS #10 request and the flags. */
export const requestToSend = (
  { names }: Pick<ServerConnection, "names">,
  { signer, duration, ...request }: RequestToSend & Pick<SendFlags, "signer" | "duration">,
): NewObject<CertificateSigningRequest> =>
  newSigningRequest({
    ...request,
    signerName: signer ?? apiserverClient.nameIn(names),
    expirationSeconds: duration,
  });

/** Prints a created request. With `--wait`, waits for its certificate first. */
export async function showSent(
  connection: ServerConnection,
  { created, flags }: { readonly created: CertificateSigningRequest; readonly flags: SendFlags },
): Promise<void> {
  const { name = "", uid } = created.metadata;
  const shown = flags.wait === true ? await awaitCertificate(connection, { name, uid }) : created;
  const done = flags.wait === true ? "created, and its certificate is issued" : "created";
  const type = certificateSigningRequestResource(connection.names);
  printObject(shown, { flags, type, text: () => `certificate request ${printable(name)} ${done}` });
}
