import { jsonFields } from "../api/json/json-object.ts";
import { kubernetesNames, namesFor, platformNames } from "../api/names.ts";
import type { Names } from "../api/names.ts";
import { UnreadableAnswer } from "./transport.ts";
import type { ApiClient } from "./api-client.ts";

/**
 * Detects the naming profile of a server from its list of API groups. Undefined when the server has no authentication
 * API.
 */
export async function namesOfServer(client: ApiClient): Promise<Names | undefined> {
  const served = await servedGroups(client);
  const serves = (names: Names): boolean => served.has(names.group("authentication"));
  const hasUpstreamNames = serves(kubernetesNames);
  if (serves(platformNames)) return namesFor("platform", { hasUpstreamNames });
  return hasUpstreamNames ? kubernetesNames : undefined;
}

/** Whether a server has an API group. Only Signet servers have the group of Signet's own kinds. */
export const servesGroup = async (client: ApiClient, group: string): Promise<boolean> =>
  (await servedGroups(client)).has(group);

/** Far more than a list of groups has. */
const largestListBytes = 16 * 2 ** 20;

async function servedGroups(client: ApiClient): Promise<ReadonlySet<unknown>> {
  const { groups } = await client.request<{ groups?: unknown }>("/apis", { largestBytes: largestListBytes });
  if (!Array.isArray(groups)) throw new UnreadableAnswer("the answer is not a list of API groups");
  return new Set(groups.map((group) => jsonFields(group)["name"]));
}
