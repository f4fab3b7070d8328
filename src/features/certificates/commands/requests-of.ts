import type { ResourceClient } from "../../../machinery/client/api-client.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";

/** The certificate requests of a server. */
export const requestsOf = ({
  client,
  names,
}: Pick<ServerConnection, "client" | "names">): ResourceClient<CertificateSigningRequest> =>
  client.resource(certificateSigningRequestResource(names));

/** Reads the name of a request. */
export const requestName = nameWithoutKind("certificatesigningrequest");
