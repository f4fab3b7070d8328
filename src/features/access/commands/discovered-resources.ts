import { ApiError } from "../../../machinery/api/api-error.ts";
import { UnreadableAnswer } from "../../../machinery/client/transport.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection.ts";

export interface DiscoveredResource {
  readonly group: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** Every name that it can be asked by: plural, singular and short ones. */
  readonly names: ReadonlySet<string>;
}

interface ResourceList {
  readonly resources: readonly {
    readonly name?: string;
    readonly singularName?: string;
    readonly shortNames?: readonly string[];
    readonly kind?: string;
    readonly namespaced?: boolean;
  }[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name?: string;
    readonly preferredVersion?: { readonly groupVersion?: string };
  }[];
}

/** Every resource that the server has, without subresources. Groups that the caller may not read are left out. */
export async function discoveredResources({ client }: Pick<ServerConnection, "client">): Promise<DiscoveredResource[]> {
  const { groups = [] } = await client.request<GroupList>("/apis");
  const places = [
    { group: "", path: "/api/v1" },
    ...groups.flatMap(({ name = "", preferredVersion }) =>
      preferredVersion?.groupVersion === undefined
        ? []
        : [{ group: name, path: `/apis/${preferredVersion.groupVersion}` }],
    ),
  ];
  const lists = await Promise.all(
    places.map(async ({ group, path }) => {
      try {
        const { resources } = await client.request<Partial<ResourceList>>(path);
        if (!Array.isArray(resources)) throw new UnreadableAnswer("the answer is not a list of API resources");
        return resources.map((one) => ({ ...one, group }));
      } catch (error) {
        if (error instanceof ApiError && [403, 404].includes(error.code)) return [];
        throw error;
      }
    }),
  );
  return lists.flat().flatMap(({ group, name = "", singularName = "", shortNames = [], kind = "", namespaced }) =>
    name.includes("/")
      ? []
      : [
          {
            group,
            resource: name,
            isNamespaced: namespaced === true,
            names: new Set([name, singularName, kind.toLowerCase(), ...shortNames].filter((one) => one !== "")),
          },
        ],
  );
}

/**
 * Finds a resource by any of its names, with its group (`csr.certificates.k8s.io`) or without. Without a group the answer has
 * the server's own name of the group: short names are served under one of two names of a group only.
 */
export function findResource(
  served: readonly DiscoveredResource[],
  { wanted, names }: { readonly wanted: string; readonly names: Names },
): DiscoveredResource | undefined {
  const dot = wanted.indexOf(".");
  const name = (dot < 0 ? wanted : wanted.slice(0, dot)).toLowerCase();
  const group = dot < 0 ? undefined : wanted.slice(dot + 1);
  const found = served.filter((one) => one.names.has(name));
  if (group !== undefined) return found.find((one) => one.group === group);
  const [first] = found;
  return first && { ...first, group: names.ownGroup(first.group) };
}
