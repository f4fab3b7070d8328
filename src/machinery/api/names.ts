/** The naming profile of a server. A data directory belongs to one profile. */
export type Profile = "platform" | "kubernetes";

/** The API groups other than the core group (""). */
export type GroupName = (typeof groupNames)[number] | "signet";

/** The groups that have a name in each profile. */
export const groupNames = [
  "admissionregistration",
  "authentication",
  "authorization",
  "certificates",
  "coordination",
  "events",
  "rbac.authorization",
  "storage",
] as const;

/**
 * Every name that differs between the two profiles: groups, annotation and label keys, claims, reserved
 * namespaces. `platform` uses Signet's names (`platform.io`), `kubernetes` uses upstream's.
 *
 * A server may understand the other profile's spelling too (`other`). It then compares names in its own spelling:
 * `ownGroup` and `ownKey` read what came from outside, once, before anything is compared.
 */
export interface Names {
  readonly profile: Profile;
  /** The other spelling that the server understands. Its `ownGroup` and `ownKey` write an answer in that spelling. */
  readonly other: Names | undefined;
  /** The spelling in which to answer a request to a group: `other` for one of its groups, else these names. */
  spellingOf(group: string): Names;
  /** A group in this spelling, whichever of the two it has. Other groups stay as they are. */
  ownGroup(group: string): string;
  /** A key in this spelling, whichever of the two it has. Other keys stay as they are. */
  ownKey(key: string): string;
  /** Whether the server also serves upstream's versions that Signet's names do not have. */
  readonly hasUpstreamVersions: boolean;
  /** The domain of keys, claims and signers: `platform.io` or `kubernetes.io`. */
  readonly domain: string;
  /**
   * The full name of an API group, such as `certificates.platform.io`. Signet's own group has one name in both
   * profiles: upstream has no such group, and reserves its own domains.
   */
  group(name: GroupName): string;
  /** A label, annotation or taint key: `key("metadata.name")` is `platform.io/metadata.name`. */
  key(suffix: string): string;
  /** A key below a subdomain: `subdomainKey("authentication", "pod-name")` is `authentication.platform.io/pod-name`. */
  subdomainKey(subdomain: string, suffix: string): string;
  /** The private claim in service account tokens. */
  readonly tokenClaim: string;
  readonly namespaces: { readonly system: string; readonly public: string; readonly nodeLease: string };
  /** Where a Pod's containers find their service account's token. */
  readonly tokenVolume: { readonly namePrefix: string; readonly mountPath: string };
  /** The ConfigMap with the cluster's CA. The server creates it in every namespace. */
  readonly rootCaConfigMap: string;
}

const ownGroup = "signet.platform.io";

type PlainNames = Omit<Names, "other" | "spellingOf" | "ownGroup" | "ownKey">;

function plainNames(profile: Profile): PlainNames {
  const upstream = profile === "kubernetes";
  const domain = upstream ? "kubernetes.io" : "platform.io";
  const groupDomain = upstream ? "k8s.io" : "platform.io";
  const reserved = upstream ? "kube" : "platform";
  return {
    profile,
    hasUpstreamVersions: upstream,
    domain,
    group: (name) => (name === "signet" ? ownGroup : `${name}.${groupDomain}`),
    key: (suffix) => `${domain}/${suffix}`,
    subdomainKey: (subdomain, suffix) => `${subdomain}.${domain}/${suffix}`,
    tokenClaim: domain,
    namespaces: { system: `${reserved}-system`, public: `${reserved}-public`, nodeLease: `${reserved}-node-lease` },
    tokenVolume: {
      namePrefix: `${reserved}-api-access-`,
      mountPath: `/var/run/secrets/${domain}/serviceaccount`,
    },
    rootCaConfigMap: `${reserved}-root-ca.crt`,
  };
}

/** Names with a single spelling. */
function onlyNames(profile: Profile): Names {
  const names: Names = {
    ...plainNames(profile),
    other: undefined,
    spellingOf: () => names,
    ownGroup: (group) => group,
    ownKey: (key) => key,
  };
  return names;
}

/** Names that know the other profile's spelling. */
function pairedNames(profile: Profile, other: () => Names): Names {
  const plain = plainNames(profile);
  const foreign = plainNames(profile === "platform" ? "kubernetes" : "platform");
  const own = new Map(groupNames.map((name) => [foreign.group(name), plain.group(name)]));
  const suffix = `.${foreign.domain}`;
  const names: Names = {
    ...plain,
    hasUpstreamVersions: true,
    get other() {
      return other();
    },
    spellingOf: (group) => (own.has(group) ? other() : names),
    ownGroup: (group) => own.get(group) ?? group,
    ownKey(key) {
      const slash = key.indexOf("/");
      const domain = key.slice(0, Math.max(0, slash));
      if (domain === foreign.domain) return plain.domain + key.slice(slash);
      return domain.endsWith(suffix) ? domain.slice(0, -foreign.domain.length) + plain.domain + key.slice(slash) : key;
    },
  };
  return names;
}

export const platformNames = onlyNames("platform");
export const kubernetesNames = onlyNames("kubernetes");

/** Signet's names, for a server that understands upstream's spelling too. */
const bothNames = pairedNames("platform", () => upstreamSpelling);
const upstreamSpelling = pairedNames("kubernetes", () => bothNames);

/** The names of a server. `hasUpstreamNames`: the profile `platform` understands and serves upstream's too. */
export function namesFor(profile: Profile, { hasUpstreamNames = false } = {}): Names {
  if (profile === "kubernetes") return kubernetesNames;
  return hasUpstreamNames ? bothNames : platformNames;
}

/** The spelling in which a map has a key; the server's own where it has both or neither. */
export const spellingIn = (
  names: Names,
  {
    map = {},
    keyIn,
  }: { readonly map: Readonly<Record<string, string>> | undefined; readonly keyIn: (names: Names) => string },
): Names => spellingsOf(names, (one) => one).find((one) => Object.hasOwn(map, keyIn(one))) ?? names;

/** A name in each spelling that the server understands, its own first. */
export const spellingsOf = <T>(names: Names, nameIn: (names: Names) => T): readonly T[] =>
  names.other === undefined ? [nameIn(names)] : [nameIn(names), nameIn(names.other)];
