import { nodesGroup, nodeUsernamePrefix } from "../../../src/machinery/api/user-info.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../src/machinery/client/in-process-transport.ts";
import type { TestServer } from "../../test-server.ts";

/** A client of a node for a server in this process: the administrator impersonates the node. */
export function nodeClient({ handler, adminToken }: TestServer, nodeName: string): ApiClient {
  const transport = inProcessTransport(handler, { bearerToken: adminToken });
  const identity = {
    "impersonate-user": `${nodeUsernamePrefix}${nodeName}`,
    "impersonate-group": nodesGroup,
  };
  return new ApiClient({
    send: (request) => transport.send({ ...request, headers: { ...request.headers, ...identity } }),
    close: () => transport.close(),
  });
}
