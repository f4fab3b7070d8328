import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import { notFound } from "../../../machinery/api/api-error.ts";
import { qualified } from "../../../machinery/api/resource-type.ts";
import type { AdmissionAttributes, AdmissionRule, Authorize } from "../../../machinery/api/attributes.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { memberNodeNameOf, nodeUsernamePrefix } from "../../../machinery/api/user-info.ts";
import { parseRequestField } from "../../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { forbiddenNodeLabels } from "./node-labels.ts";
import { nodePodFault } from "./node-pods.ts";
import { audienceFault } from "./token-audience.ts";
import type { TokenRequestObject } from "./token-audience.ts";
import { asNode } from "../nodes/node-schema.ts";
import { asPod } from "../pods/schema/pod-schema.ts";
import { asSigningRequest } from "../signing-request.ts";
import { admissionForbidden } from "../../../machinery/registry/admission.ts";

/** Upstream's rule reads Pods with a lister, whose error names the kind. */
const missingPod = { group: "", resource: "pod" };

interface NodeRestrictionOptions {
  readonly names: Names;
  readonly authorize: Authorize;
  /** Whether a signer, by its name in either spelling, certifies nodes. A node may request only its own certificate from such a signer. */
  certifiesNodes(signerName: string): boolean;
  findPod(namespace: string, name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
  findNode(name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
}

/**
 * Limits the writes of a node to its own objects: its Node, the Pods on it, tokens for those Pods, its Lease, its CSINode, and
 * certificates in its own name (upstream: NodeRestriction). Of its Node, it may not change taints, owners (CVE-2025-5187), and labels that
 * influence scheduling.
 */
export function nodeRestriction(options: NodeRestrictionOptions): AdmissionRule {
  const { names } = options;
  const resources: Readonly<Record<string, (attributes: NodeAttributes) => Promise<void> | void>> = {
    pods: (attributes) => checkPod(attributes, options),
    nodes: (attributes) => checkNode(attributes, names),
    serviceaccounts: (attributes) => checkToken(attributes, options),
    [`leases.${names.group("coordination")}`]: (attributes) => checkLease(attributes, names),
    [`csinodes.${names.group("storage")}`]: checkCsiNode,
    [`certificatesigningrequests.${names.group("certificates")}`]: (attributes) =>
      checkSigningRequest(attributes, options),
  };
  return {
    name: "NodeRestriction",
    appliesTo: ({ user }) => memberNodeNameOf(user) !== undefined,
    async admit(attributes) {
      const { user } = attributes;
      const node = memberNodeNameOf(user) ?? "";
      if (node === "") {
        throw admissionForbidden(attributes, `could not determine node from user ${goQuoted(user.username)}`);
      }
      const key = qualified(attributes);
      if (Object.hasOwn(resources, key)) await resources[key]?.({ ...attributes, node });
      return undefined;
    },
  };
}

/** A write by a node. `node` is its name. */
type NodeAttributes = AdmissionAttributes & { readonly node: string };

async function checkPod(attributes: NodeAttributes, options: NodeRestrictionOptions): Promise<void> {
  switch (attributes.subresource) {
    case "":
      return checkWholePod(attributes, options);
    case "status":
      return checkPodStatus(attributes);
    case "eviction":
      return checkEviction(attributes, options);
    default:
      throw admissionForbidden(
        attributes,
        `unexpected pod subresource ${goQuoted(attributes.subresource)}, only 'status' and 'eviction' are allowed`,
      );
  }
}

async function checkWholePod(attributes: NodeAttributes, options: NodeRestrictionOptions): Promise<void> {
  const { operation, object, oldObject, node } = attributes;
  const quoted = goQuoted(node);
  switch (operation) {
    case "CREATE": {
      if (object === undefined) return;
      const fault = await nodePodFault(asPod(object), { ...options, node });
      if (fault !== undefined) throw admissionForbidden(attributes, fault);
      return;
    }
    case "DELETE": {
      if (oldObject !== undefined && asPod(oldObject).spec.nodeName === node) return;
      throw admissionForbidden(attributes, `node ${quoted} can only delete pods with spec.nodeName set to itself`);
    }
    case "UPDATE":
      throw admissionForbidden(
        attributes,
        `unexpected operation "UPDATE", node ${quoted} can only create and delete mirror pods`,
      );
  }
}

function checkPodStatus(attributes: NodeAttributes): void {
  const { operation, object, oldObject, node } = attributes;
  const quoted = goQuoted(node);
  if (operation !== "UPDATE" || object === undefined || oldObject === undefined) {
    throw admissionForbidden(attributes, `unexpected operation ${goQuoted(operation)}`);
  }
  if (asPod(oldObject).spec.nodeName !== node) {
    throw admissionForbidden(
      attributes,
      `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`,
    );
  }
  if (!isSemanticallyEqual(object.metadata.labels, oldObject.metadata.labels)) {
    throw admissionForbidden(attributes, `node ${quoted} cannot update labels through pod status`);
  }
  // Claims give a Pod access to devices: only the scheduler may write them.
  for (const [field, words] of [
    ["resourceClaimStatuses", "resource claim statuses"],
    ["extendedResourceClaimStatus", "extended resource claim status"],
  ] as const) {
    if (isSemanticallyEqual(asPod(object).status?.[field], asPod(oldObject).status?.[field])) continue;
    throw admissionForbidden(attributes, `node ${quoted} cannot update ${words}`);
  }
}

async function checkEviction(attributes: NodeAttributes, { findPod }: NodeRestrictionOptions): Promise<void> {
  const { operation, namespace, name, node } = attributes;
  if (operation !== "CREATE") {
    throw admissionForbidden(attributes, `unexpected operation ${goQuoted(operation)}`);
  }
  const pod = await findPod(namespace, name);
  if (pod === undefined) throw notFound(missingPod, name);
  if (asPod(pod).spec.nodeName === node) return;
  throw admissionForbidden(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

function checkNode(attributes: NodeAttributes, names: Names): void {
  const { object, oldObject, node } = attributes;
  const requested = attributes.name || (object?.metadata.name ?? "");
  if (requested !== node) {
    const [own, other] = [goQuoted(node), goQuoted(requested)];
    throw admissionForbidden(attributes, `node ${own} is not allowed to modify node ${other}`);
  }
  if (object === undefined) return;
  const labels = forbiddenNodeLabels(names, { next: object.metadata.labels, previous: oldObject?.metadata.labels });
  if (oldObject === undefined) checkNewNode(attributes, { object, labels });
  else checkChangedNode(attributes, { object, oldObject, labels });
}

interface WrittenNode {
  readonly object: ApiObject;
  /** The labels that the write sets or changes although a node may not. */
  readonly labels: readonly string[];
}

function checkNewNode(attributes: NodeAttributes, { object, labels }: WrittenNode): void {
  const quoted = goQuoted(attributes.node);
  if (asNode(object).spec.configSource !== undefined) {
    throw admissionForbidden(attributes, `node ${quoted} is not allowed to create pods with a non-nil configSource`);
  }
  if (labels.length > 0) {
    throw admissionForbidden(
      attributes,
      `node ${quoted} is not allowed to set the following labels: ${labels.join(", ")}`,
    );
  }
  if ((object.metadata.ownerReferences ?? []).length > 0) {
    throw admissionForbidden(attributes, `node ${quoted} is not allowed to set ownerReferences`);
  }
}

function checkChangedNode(
  attributes: NodeAttributes,
  { object, oldObject, labels }: WrittenNode & { readonly oldObject: ApiObject },
): void {
  const quoted = goQuoted(attributes.node);
  const { spec } = asNode(object);
  const previous = asNode(oldObject).spec;
  // An empty source is a change too, if there was none before.
  const isSameSource =
    previous.configSource !== undefined && isSemanticallyEqual(spec.configSource, previous.configSource);
  if (spec.configSource !== undefined && !isSameSource) {
    throw admissionForbidden(
      attributes,
      `node ${quoted} is not allowed to update configSource to a new non-nil configSource`,
    );
  }
  if (!isSemanticallyEqual(spec.taints, previous.taints)) {
    throw admissionForbidden(attributes, `node ${quoted} is not allowed to modify taints`);
  }
  if (!isSemanticallyEqual(object.metadata.ownerReferences, oldObject.metadata.ownerReferences)) {
    throw admissionForbidden(attributes, `node ${quoted} is not allowed to modify ownerReferences`);
  }
  if (labels.length > 0) throw admissionForbidden(attributes, `is not allowed to modify labels: ${labels.join(", ")}`);
}

async function checkToken(attributes: NodeAttributes, options: NodeRestrictionOptions): Promise<void> {
  const { subresource, namespace, object, node } = attributes;
  if (subresource !== "token" || object === undefined) return;
  const { spec } = object as TokenRequestObject; // the path determines the type
  const reference = spec.boundObjectRef ?? {};
  const { apiVersion, kind, name = "", uid = "" } = reference;
  if (apiVersion !== "v1" || kind !== "Pod" || name === "") {
    throw admissionForbidden(attributes, "node requested token not bound to a pod");
  }
  if (uid === "") throw admissionForbidden(attributes, "node requested token with a pod binding without a uid");
  const pod = await options.findPod(namespace, name);
  if (pod === undefined) throw notFound(missingPod, name);
  if (pod.metadata.uid !== uid) {
    throw admissionForbidden(
      attributes,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (asPod(pod).spec.nodeName !== node) {
    throw admissionForbidden(attributes, "node requested token bound to a pod scheduled on a different node");
  }
  const fault = await audienceFault(attributes, {
    authorize: options.authorize,
    pod: asPod(pod),
    audiences: spec.audiences ?? [],
  });
  if (fault !== undefined) throw admissionForbidden(attributes, fault);
}

function checkLease(attributes: NodeAttributes, names: Names): void {
  const { namespace, object, node } = attributes;
  if (namespace !== names.namespaces.nodeLease) {
    const quoted = goQuoted(names.namespaces.nodeLease);
    throw admissionForbidden(attributes, `can only access leases in the ${quoted} system namespace`);
  }
  if ((attributes.name || object?.metadata.name) === node) return;
  throw admissionForbidden(attributes, "can only access node lease with the same name as the requesting node");
}

function checkCsiNode(attributes: NodeAttributes): void {
  if ((attributes.name || attributes.object?.metadata.name) === attributes.node) return;
  throw admissionForbidden(attributes, "can only access CSINode with the same name as the requesting node");
}

function checkSigningRequest(attributes: NodeAttributes, { certifiesNodes }: NodeRestrictionOptions): void {
  const { operation, object, node } = attributes;
  if (operation !== "CREATE" || object === undefined) return;
  const { signerName, request = "" } = asSigningRequest(object).spec;
  if (!certifiesNodes(signerName)) return;
  if (commonNameOf(attributes, request) === `${nodeUsernamePrefix}${node}`) return;
  throw admissionForbidden(attributes, `can only create a node CSR with CN=${nodeUsernamePrefix}${node}`);
}

function commonNameOf(attributes: AdmissionAttributes, request: string): string {
  const parsed = orPkiError(() => parseRequestField(request));
  if (parsed instanceof PkiError) throw admissionForbidden(attributes, `unable to parse csr: ${parsed.message}`);
  return parsed.subject.commonName;
}
