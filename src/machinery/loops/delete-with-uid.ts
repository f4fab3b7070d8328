import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceClient } from "../client/api-client.ts";
import { ignoreCodes } from "../client/ignore-codes.ts";

/** Deletes an object that a loop has seen, and never a newer one of the same name. */
export async function deleteWithUid<T extends ApiObject>(
  resource: ResourceClient<T>,
  { metadata: { name = "", uid = "" } }: ApiObject,
): Promise<void> {
  await ignoreCodes([404, 409], resource.delete(name, { uid }));
}
