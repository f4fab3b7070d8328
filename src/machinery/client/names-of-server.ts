import { namesFor } from "../api/names.ts";
import type { Names } from "../api/names.ts";
import type { ApiClient } from "./api-client.ts";

/**
 * Detects the naming profile of a server from its list of API groups. Undefined when the server has no authentication
 * API.
 */
export async function namesOfServer(client: ApiClient): Promise<Names | undefined> {
  const { groups } = await client.request<{ groups: readonly { name: string }[] }>("GET", "/apis");
  return [namesFor("platform"), namesFor("kubernetes")].find((names) =>
    groups.some(({ name }) => name === names.group("authentication")),
  );
}
