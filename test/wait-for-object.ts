import type { ApiObject } from "../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../src/machinery/client/api-client.ts";

export interface Awaited {
  readonly namespace?: string;
  readonly name: string;
}

/** How long to wait for an object. After this time the test fails. */
const patienceMilliseconds = 120_000;

/** Follows an object until it satisfies a condition (undefined: it is gone), and returns it. */
export async function waitForObject<T extends ApiObject>(
  client: ApiClient,
  reference: ResourceType<T>,
  { namespace = "", name }: Awaited,
  isAsWanted: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const resource = client.resource(reference, namespace);
  const fieldSelector = `metadata.name=${name}`;
  const list = await resource.list({ fieldSelector });
  if (isAsWanted(list.items[0])) return list.items[0];
  const resourceVersion = list.metadata.resourceVersion ?? "";
  const signal = AbortSignal.timeout(patienceMilliseconds);
  for await (const { type, object } of resource.watch({ fieldSelector, resourceVersion }, signal)) {
    const current = type === "DELETED" ? undefined : object;
    if (isAsWanted(current)) return current;
  }
  throw new Error(`${reference.plural} ${name} did not become what was waited for`);
}
