type Rewrite = (text: string) => string;
type Rules = readonly (readonly [RegExp, string])[];

/** The vectors use the `platform` names. These functions translate requests to upstream's names, and answers back. */
const toKubernetes: Rules = [
  [/platform\.io([/:])apiserver-client-nodeagent/g, "kubernetes.io$1kube-apiserver-client-kubelet"],
  [/platform\.io([/:])apiserver-client/g, "kubernetes.io$1kube-apiserver-client"],
  [/platform\.io([/:])nodeagent-serving/g, "kubernetes.io$1kubelet-serving"],
  // A group followed by a version, or standing alone, is an API group; otherwise it is a key's prefix.
  [
    /\b(rbac\.authorization|authentication|authorization|certificates|coordination|events)\.platform\.io(?!\/(?!v\d))/g,
    "$1.k8s.io",
  ],
  [/platform\.io/g, "kubernetes.io"],
  [/platform-(system|public|node-lease|root-ca\.crt)/g, "kube-$1"],
];

const toPlatform: Rules = [
  [/kubernetes\.io([/:])kube-apiserver-client-kubelet/g, "platform.io$1apiserver-client-nodeagent"],
  [/kubernetes\.io([/:])kube-apiserver-client/g, "platform.io$1apiserver-client"],
  [/kubernetes\.io([/:])kubelet-serving/g, "platform.io$1nodeagent-serving"],
  // Names of the protocol, unlike those of resources, are the same in both profiles.
  [/(?<!meta\.|apidiscovery\.)\b(kubernetes|k8s)\.io(?!\/initial-events-end)/g, "platform.io"],
  [/kube-(system|public|node-lease|root-ca\.crt)/g, "platform-$1"],
];

const rewrite =
  (rules: Rules): Rewrite =>
  (text) =>
    rules.reduce((rewritten, [pattern, replacement]) => rewritten.replace(pattern, replacement), text);

export interface ProfileNames {
  readonly outbound: Rewrite;
  readonly inbound: Rewrite;
}

export const profileNames = {
  platform: { outbound: (text) => text, inbound: (text) => text },
  kubernetes: { outbound: rewrite(toKubernetes), inbound: rewrite(toPlatform) },
} as const satisfies Record<string, ProfileNames>;
