/** The naming profile of a server. A data directory belongs to one profile. */
export type Profile = "platform" | "kubernetes";

/** The API groups other than the core group (""). */
export type GroupName =
  "authentication" | "authorization" | "certificates" | "coordination" | "rbac.authorization" | "signet";

/**
 * Every name that differs between the two profiles: groups, signers, annotation and label keys, claims, reserved
 * namespaces. `platform` uses the names of the API document, `kubernetes` uses upstream's.
 */
export interface Names {
  readonly profile: Profile;
  /** Whether the server also serves the versions of upstream that the API document does not have. */
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
  readonly signers: {
    readonly apiserverClient: string;
    readonly apiserverClientNodeAgent: string;
    readonly nodeAgentServing: string;
    /** The legacy signer. New requests must not name it. */
    readonly legacyUnknown: string;
  };
  readonly namespaces: { readonly system: string; readonly public: string; readonly nodeLease: string };
  /** Where a Pod's containers find their service account's token. */
  readonly tokenVolume: { readonly namePrefix: string; readonly mountPath: string };
  /** The ConfigMap with the cluster's CA. The server creates it in every namespace. */
  readonly rootCaConfigMap: string;
}

const ownGroup = "signet.platform.io";

function namesOf(profile: Profile): Names {
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
    signers: {
      apiserverClient: `${domain}/${upstream ? "kube-apiserver-client" : "apiserver-client"}`,
      apiserverClientNodeAgent: `${domain}/${upstream ? "kube-apiserver-client-kubelet" : "apiserver-client-nodeagent"}`,
      nodeAgentServing: `${domain}/${upstream ? "kubelet-serving" : "nodeagent-serving"}`,
      legacyUnknown: `${domain}/legacy-unknown`,
    },
    namespaces: { system: `${reserved}-system`, public: `${reserved}-public`, nodeLease: `${reserved}-node-lease` },
    tokenVolume: {
      namePrefix: `${reserved}-api-access-`,
      mountPath: `/var/run/secrets/${domain}/serviceaccount`,
    },
    rootCaConfigMap: `${reserved}-root-ca.crt`,
  };
}

export const platformNames: Names = namesOf("platform");
export const kubernetesNames: Names = namesOf("kubernetes");

/** The names of a profile. */
export const namesFor = (profile: Profile): Names => (profile === "kubernetes" ? kubernetesNames : platformNames);
