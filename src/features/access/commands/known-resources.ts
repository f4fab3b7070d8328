import { ApiError } from "../../../machinery/api/api-error.ts";
import { UnreadableAnswer } from "../../../machinery/client/transport.ts";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection.ts";

export interface KnownResource {
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

/**
 * Every resource that a role can name, without subresources: those that the server has, and those that are in rules alone.
 * Groups that the caller may not read are left out.
 */
export async function knownResources({
  client,
  names,
}: Pick<ServerConnection, "client" | "names">): Promise<KnownResource[]> {
  const { groups = [] } = await client.discover<GroupList>("/apis");
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
        const { resources } = await client.discover<Partial<ResourceList>>(path);
        if (!Array.isArray(resources)) throw new UnreadableAnswer("the answer is not a list of API resources");
        return resources.map((one) => ({ ...one, group }));
      } catch (error) {
        if (error instanceof ApiError && [403, 404].includes(error.code)) return [];
        throw error;
      }
    }),
  );
  const served = lists
    .flat()
    .flatMap(({ group, name = "", singularName = "", shortNames = [], kind = "", namespaced }) =>
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
  return [...served, ...inRulesAlone(names)];
}

/** Who may approve and sign for a signer, and whom a user may act as: no path has these resources. */
const inRulesAlone = (names: Names): KnownResource[] =>
  spellingsOf(names, (spelling) => [
    { group: spelling.group("certificates"), resource: "signers" },
    { group: "", resource: "users" },
    { group: "", resource: "groups" },
    { group: spelling.group("authentication"), resource: "uids" },
    { group: spelling.group("authentication"), resource: "userextras" },
  ])
    .flat()
    .map((one) => ({ ...one, isNamespaced: false, names: new Set([one.resource]) }));

/**
 * Finds a resource by any of its names, with its group (`csr.certificates.k8s.io`) or without. Without a group the answer has
 * the server's own name of the group: short names are served under one of two names of a group only.
 */
export function findResource(
  known: readonly KnownResource[],
  { wanted, names }: { readonly wanted: string; readonly names: Names },
): KnownResource | undefined {
  const dot = wanted.indexOf(".");
  const name = (dot < 0 ? wanted : wanted.slice(0, dot)).toLowerCase();
  const group = dot < 0 ? undefined : wanted.slice(dot + 1);
  const found = known.filter((one) => one.names.has(name));
  if (group !== undefined) return found.find((one) => one.group === group);
  const [first] = found;
  return first && { ...first, group: names.ownGroup(first.group) };
}
