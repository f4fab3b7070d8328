import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";

export interface KnownResource {
  readonly group: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** All names of the resource that a command accepts: plural, singular and short. */
  readonly names: ReadonlySet<string>;
}

/** The fields of `APIGroupDiscoveryList` (apidiscovery.k8s.io/v2) that are read: every group with its resources. */
interface DiscoveredGroups {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    /** The preferred version is the first. */
    readonly versions?: readonly { readonly resources?: readonly DiscoveredResource[] }[];
  }[];
}

interface DiscoveredResource {
  readonly resource?: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly responseKind?: { readonly kind?: string };
  readonly scope?: string;
}

const kind = "APIGroupDiscoveryList";
const accept = `application/json;g=apidiscovery.k8s.io;v=v2;as=${kind}`;

/**
 * Every resource that a role can name, without subresources: the resources that the server has, and those that only rules name. It takes
 * two requests, one for the core group and one for all other groups. So the size of the answers is bounded, however many groups the server
 * has.
 */
export async function knownResources({
  client,
  names,
}: Pick<ServerConnection, "client" | "names">): Promise<KnownResource[]> {
  const lists = await Promise.all(
    ["/api", "/apis"].map((path) => client.request<DiscoveredGroups>(path, { accept, kinds: [kind] })),
  );
  const served = lists.flatMap(({ items }) =>
    items.flatMap(({ metadata: { name: group = "" } = {}, versions: [preferred] = [] }) =>
      (preferred?.resources ?? []).map(
        ({ resource = "", singularResource = "", shortNames = [], responseKind, scope }) => ({
          group,
          resource,
          isNamespaced: scope === "Namespaced",
          names: new Set(
            [resource, singularResource, (responseKind?.kind ?? "").toLowerCase(), ...shortNames].filter(
              (one) => one !== "",
            ),
          ),
        }),
      ),
    ),
  );
  return [...served, ...inRulesAlone(names)];
}

/** The server does not serve these, only rules name them: signers (to approve and sign), and the parts of a user (to impersonate). */
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
 * Finds a resource by any of its names, with its group (`csr.certificates.k8s.io`) or without. Without a group, the result has the server's
 * own name of the group, because the server has short names under only one of a group's two names.
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
