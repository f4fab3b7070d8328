import { adminToken } from "../../bench/server-process.ts";
import type { ServerProcess } from "../../bench/server-process.ts";
import { ApiClient } from "../../src/client/api-client.ts";
import { httpsTransport } from "../../src/client/https-transport.ts";

/** An administrator's client with connections of its own. */
export const clientOf = ({ url, caCertificates }: Pick<ServerProcess, "url" | "caCertificates">): ApiClient =>
  new ApiClient(
    httpsTransport({ server: url, caCertificates: caCertificates.toString(), bearerToken: () => adminToken }),
  );
