import { adminToken } from "../../bench/processes/server-process.ts";
import type { ServerProcess } from "../../bench/processes/server-process.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";

/** An administrator's client with its own connections. */
export const clientOf = ({ url, caCertificates }: Pick<ServerProcess, "url" | "caCertificates">): ApiClient =>
  new ApiClient(
    httpsTransport({ server: url, caCertificates: caCertificates.toString(), bearerToken: () => adminToken }),
  );
