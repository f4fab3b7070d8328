import { platformNames } from "../src/machinery/api/names.ts";
import { resourceReferences } from "./resource-references.ts";
import type { TestServer } from "./test-server.ts";
import { waitForObject } from "./wait-for-object.ts";

const { serviceAccounts } = resourceReferences(platformNames);

/** Resolves when there is the `default` account of the namespace `default`: a loop creates it after the server has started. */
export async function waitForDefaultAccount({ client }: Pick<TestServer, "client">): Promise<void> {
  const where = { namespace: "default", name: "default" };
  await waitForObject(client, serviceAccounts, where, (account) => account !== undefined);
}
