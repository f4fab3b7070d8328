import type { Names } from "../api/names.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/**
 * Sets the column descriptions that upstream sends, where they are known, because clients compare whole tables. Other
 * columns keep their own description.
 */
export function withTableDescriptions(definition: ResourceDefinition, names: Names): ResourceDefinition {
  const descriptions = new Map<string, string>([
    ...Object.entries(ofEveryKind(names)),
    ...Object.entries(ofKinds(names)[definition.kind] ?? {}),
  ]);
  const nameDescription = descriptions.get("Name");
  return {
    ...definition,
    ...(nameDescription !== undefined && { nameDescription }),
    columns: definition.columns.map((column) => ({
      ...column,
      description: descriptions.get(column.name) ?? column.description,
    })),
  };
}

type Descriptions = Readonly<Record<string, string>>;

function ofEveryKind(names: Names): Descriptions {
  const { domain } = names;
  const created =
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\n" +
    `Populated by the system. Read-only. Null for lists. More info: https://git.${k8sDomain(names)}/community/contributors/devel/sig-architecture/api-conventions.md#metadata`;
  return {
    Name: `Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://${domain}/docs/concepts/overview/working-with-objects/names#names`,
    Age: created,
    "Created At": created,
  };
}

/** The domain of upstream's short links. */
const k8sDomain = ({ domain, profile }: Names): string => (profile === "kubernetes" ? "k8s.io" : domain);

const nodeAddresses = (names: Names): string =>
  `List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://${names.domain}/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.${k8sDomain(names)}/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).`;

const ofKinds = (names: Names): Readonly<Record<string, Descriptions>> => ({
  Namespace: { Status: "The status of the namespace" },
  Node: {
    Status: "The status of the node",
    Roles: "The roles of the node",
    Version: "Kubelet Version reported by the node.",
    "Internal-IP": nodeAddresses(names),
    "External-IP": nodeAddresses(names),
    "OS-Image": "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).",
    "Kernel-Version": "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
    "Container-Runtime":
      "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
  },
  Pod: {
    Ready: "The aggregate readiness state of this pod for accepting traffic.",
    Status: "The aggregate status of the containers in this pod.",
    Restarts:
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    IP: "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
    Node: `NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://${names.domain}/docs/concepts/scheduling-eviction/assign-pod-node/#nodename`,
    "Nominated Node":
      "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.",
    "Readiness Gates": `If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.${k8sDomain(names)}/enhancements/keps/sig-network/580-pod-readiness-gates`,
  },
  ConfigMap: {
    Data: "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
  },
  Secret: {
    Type: `Used to facilitate programmatic handling of secret data. More info: https://${names.domain}/docs/concepts/configuration/secret/#secret-types`,
    Data: "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
  },
  Lease: {
    Holder:
      "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
  },
  Event: {
    "Last Seen": "The time at which the most recent occurrence of this event was recorded.",
    Type: "Type of this event (Normal, Warning), new types could be added in the future",
    Reason:
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    Object: "The object that this event is about.",
    Subobject:
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
    Source: "The component reporting this event. Should be a short machine understandable string.",
    Message: "A human-readable description of the status of this operation.",
    "First Seen": "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
    Count: "The number of times this event has occurred.",
  },
  RoleBinding: {
    Role: "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    Users: "Users in the roleBinding",
    Groups: "Groups in the roleBinding",
    ServiceAccounts: "ServiceAccounts in the roleBinding",
  },
  ClusterRoleBinding: {
    Role: "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    Users: "Users in the clusterRoleBinding",
    Groups: "Groups in the clusterRoleBinding",
    ServiceAccounts: "ServiceAccounts in the clusterRoleBinding",
  },
  CertificateSigningRequest: {
    SignerName:
      "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n" +
      ` 1. If it's a kubelet client certificate, it is assigned\n    "${names.signers.apiserverClientNodeAgent}".\n` +
      ` 2. If it's a kubelet serving certificate, it is assigned\n    "${names.signers.nodeAgentServing}".\n` +
      ` 3. Otherwise, it is assigned "${names.signers.legacyUnknown}".\n` +
      "Distribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
    Requestor: "Base64-encoded PKCS#10 CSR data",
    RequestedDuration:
      "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\n" +
      "The v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\n" +
      "Certificate signers may not honor this field for various reasons:\n\n" +
      "  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n" +
      "  2. Signer whose configured maximum is shorter than the requested duration\n" +
      "  3. Signer whose configured minimum is longer than the requested duration\n\n" +
      "The minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
    Condition: "Conditions applied to the request, such as approval or denial.",
  },
  ClusterTrustBundle: {
    SignerName:
      "signerName indicates the associated signer, if any.\n\n" +
      `In order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=${names.group("certificates")} resource=signers resourceName=<the signer name> verb=attest.\n\n` +
      "If signerName is not empty, then the ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to colons). For example, for the signer name `example.com/foo`, valid ClusterTrustBundle object names include `example.com:foo:abc` and `example.com:foo:v1`.\n\n" +
      "If signerName is empty, then the ClusterTrustBundle object's name must not have such a prefix.\n\n" +
      "List/watch requests for ClusterTrustBundles can filter on this field using a `spec.signerName=NAME` field selector.",
  },
});
