import type { AdmissionAttributes, AdmissionRule } from "../api/attributes.ts";
import type { Names } from "../api/names.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { asPod, listOf, secretsOf } from "./pod-object.ts";
import type { PodObject } from "./pod-object.ts";
import { refusal } from "./refusal.ts";

interface ServiceAccountObject {
  readonly metadata: ApiObject["metadata"];
  readonly secrets?: readonly { readonly name?: string }[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
}

export interface ServiceAccountRuleOptions {
  readonly names: Names;
  /** As every acknowledged write left it. */
  findServiceAccount(
    namespace: string,
    name: string,
  ): ServiceAccountObject | undefined | Promise<ServiceAccountObject | undefined>;
}

/**
 * A Pod runs as a service account that exists, `default` when it names none, takes its secrets for pulling images from
 * there, and where the account is annotated so it uses no other secrets than those the account lists. Pods that mirror a
 * node's own files name no account at all (upstream: ServiceAccount; tokens are not mounted, since Pods are not run here).
 */
export function serviceAccountRule({ names, findServiceAccount }: ServiceAccountRuleOptions): AdmissionRule {
  const mirrorAnnotation = names.key("config.mirror");
  const enforceAnnotation = names.key("enforce-mountable-secrets");

  async function accountOf(attributes: AdmissionAttributes, name: string): Promise<ServiceAccountObject> {
    const { namespace } = attributes;
    const account = await findServiceAccount(namespace, name);
    if (account !== undefined) return account;
    const missing = `serviceaccount ${JSON.stringify(name)} not found`;
    throw refusal(attributes, `error looking up service account ${namespace}/${name}: ${missing}`);
  }

  return {
    name: "ServiceAccount",
    async admit(attributes) {
      const pod = createdPod(attributes);
      if (pod === undefined) return undefined;
      if (Object.hasOwn(pod.metadata.annotations ?? {}, mirrorAnnotation)) {
        checkMirrorPod(attributes, pod);
        return pod;
      }
      const name = pod.spec.serviceAccountName || "default";
      const account = await accountOf(attributes, name);
      const hasPullSecrets = listOf(pod.spec.imagePullSecrets).length > 0;
      const pullSecrets = account.imagePullSecrets ?? [];
      const admitted: PodObject = {
        ...pod,
        spec: {
          ...pod.spec,
          serviceAccountName: name,
          serviceAccount: name,
          ...(!hasPullSecrets && pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
        },
      };
      if (isTrue(account.metadata.annotations?.[enforceAnnotation]))
        checkSecrets(attributes, { pod: admitted, account });
      return admitted;
    },
  };
}

function createdPod({ operation, group, resource, subresource, object }: AdmissionAttributes): PodObject | undefined {
  const isCreated = operation === "CREATE" && group === "" && resource === "pods" && subresource === "";
  return isCreated && object !== undefined ? asPod(object) : undefined;
}

function checkMirrorPod(attributes: AdmissionAttributes, pod: PodObject): void {
  if ((pod.spec.serviceAccountName ?? "") !== "") {
    throw refusal(attributes, "a mirror pod may not reference service accounts");
  }
  if (secretsOf(pod).length > 0 || listOf(pod.spec.imagePullSecrets).length > 0) {
    throw refusal(attributes, "a mirror pod may not reference secrets");
  }
  const tokens = listOf(pod.spec.volumes)
    .flatMap(({ projected }) => listOf(projected?.sources))
    .filter(({ serviceAccountToken }) => serviceAccountToken !== undefined);
  if (tokens.length > 0) {
    throw refusal(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

function checkSecrets(
  attributes: AdmissionAttributes,
  { pod, account }: { readonly pod: PodObject; readonly account: ServiceAccountObject },
): void {
  const accountName = account.metadata.name ?? "";
  const listed = new Set((account.secrets ?? []).map(({ name = "" }) => name));
  for (const { secretName, description } of secretsOf(pod)) {
    if (listed.has(secretName)) continue;
    throw refusal(
      attributes,
      `${description} secret.secretName="${secretName}" is not allowed because service account ${accountName} does not reference that secret`,
    );
  }
  const pulling = new Set((account.imagePullSecrets ?? []).map(({ name = "" }) => name));
  for (const [index, { name = "" }] of listOf(pod.spec.imagePullSecrets).entries()) {
    if (pulling.has(name)) continue;
    throw refusal(
      attributes,
      `imagePullSecrets[${index}].name="${name}" is not allowed because service account ${accountName} does not reference that imagePullSecret`,
    );
  }
}

/** The words that Go's `strconv.ParseBool` takes for true. */
const isTrue = (text: string | undefined): boolean =>
  text !== undefined && ["1", "t", "T", "true", "TRUE", "True"].includes(text);
