import { namesFor } from "../api/names.ts";
import type { Names } from "../api/names.ts";
import type { ApiClient } from "./api-client.ts";

/** The names that a server speaks, by its list of API groups; undefined when it offers no authentication API. */
export async function namesOfServer(client: ApiClient): Promise<Names | undefined> {
  const { groups } = await client.request<{ groups: readonly { name: string }[] }>("GET", "/apis");
  return [namesFor("platform"), namesFor("kubernetes")].find((names) =>
    groups.some(({ name }) => name === names.group("authentication")),
  );
}
