import { hostileText } from "../mutations/hostile-text.ts";
import { mutatePem } from "../mutations/mutate-pem.ts";
import { mutateToken } from "../mutations/mutate-token.ts";
import { certificatePems, namespaces, objectNames, requestPems } from "../vocabulary.ts";
import { anyOf, inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";

/** Texts that fields of these names hold in real objects. */
const plausible: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    name: objectNames,
    generateName: ["a-", "robot-"],
    namespace: [...namespaces, "default", "absent"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete", "impersonate", "*"],
    verb: ["get", "list", "impersonate", "*"],
    apiGroups: ["", "*", "apps"],
    apiGroup: ["", "rbac.authorization.platform.io", "rbac.authorization.k8s.io"],
    resources: ["pods", "secrets", "serviceaccounts/token", "*", "*/status"],
    resource: ["pods", "secrets", "nodes"],
    resourceNames: objectNames,
    nonResourceURLs: ["/healthz", "/api/*", "*"],
    operator: ["In", "NotIn", "Exists", "DoesNotExist", "Equal"],
    usages: ["client auth", "server auth", "digital signature", "key encipherment", "any"],
    status: ["True", "False", "Unknown"],
    type: ["Approved", "Denied", "Failed", "Ready", "Opaque", "Normal", "Warning"],
    phase: ["Running", "Pending", "Active", "Terminating"],
    kind: ["Pod", "Secret", "Node", "ServiceAccount", "User", "Group", "Role", "ClusterRole", "ConfigMap"],
    apiVersion: ["v1", "rbac.authorization.k8s.io/v1", "apps/v1"],
    finalizers: ["example.com/hold", "foregroundDeletion", "orphan"],
    finalizer: ["kubernetes"],
    audiences: ["api", "https://default.default.svc"],
    username: ["system:node:node-1", "system:serviceaccount:fuzz-a:robot", "jane"],
    user: ["system:node:node-1", "jane"],
    groups: ["system:masters", "system:nodes", "dev"],
    nodeName: ["node-1"],
    serviceAccountName: ["robot", "default"],
    secretName: ["robot", "a"],
    operation: ["Apply", "Update"],
    fieldsType: ["FieldsV1"],
    image: ["worker:1"],
    restartPolicy: ["Always", "Never"],
    taint: ["NoSchedule"],
    effect: ["NoSchedule", "NoExecute"],
    podCIDR: ["10.0.0.0/24"],
  }),
);

/** The text of a string field: what fits its name, what exists on the server, and sometimes what fits nothing. */
export function generateText(field: string, context: GeneratorContext): string {
  const { random, vocabulary, names } = context;
  if (inPercent(random, 8)) return hostileText(random);
  switch (field) {
    case "uid":
      return random.pick([...vocabulary.uids]);
    case "resourceVersion":
      return random.pick(["", ...vocabulary.resourceVersions]);
    case "continue":
      return random.pick([...vocabulary.continueTokens]);
    case "token":
      return generateToken(context);
    case "signerName":
      return random.pick(["example.com/signer", ...Object.values(signerNames).map((nameIn) => nameIn(names))]);
    case "trustBundle":
      return generatePem(certificatePems, context);
    default:
      return anyOf(random, plausible.get(field) ?? objectNames);
  }
}

export const generateToken = ({ vocabulary, random }: GeneratorContext): string => {
  const token = random.pick([...vocabulary.tokens]);
  return inPercent(random, 60) ? mutateToken(token, random) : token;
};

/** Of the given PEM texts, as it is or changed. */
export function generatePem(pems: readonly string[], { random, authorityKey }: GeneratorContext): string {
  const pem = anyOf(random, pems);
  return inPercent(random, 50) ? mutatePem(pem, { random, key: authorityKey }) : pem;
}

/** What bytes fields hold: PEM where the field's name says so. */
export function generateBytes(field: string, context: GeneratorContext): Buffer {
  if (field === "request") return Buffer.from(generatePem(requestPems, context), "latin1");
  if (field === "certificate") return Buffer.from(generatePem(certificatePems, context), "latin1");
  return Buffer.from(hostileText(context.random));
}
