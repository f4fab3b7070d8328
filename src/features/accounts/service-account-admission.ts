import { spellingsOf } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { AdmissionAttributes, AdmissionRule } from "../../machinery/api/attributes.ts";
import { isTrueInGo } from "../../machinery/api/text/is-true-in-go.ts";
import type { Reference } from "../../machinery/schema/references.ts";
import { asPod, isMirrorPod, podReferences, withTokenVolume } from "../nodes/index.ts";
import type { Pod } from "../nodes/index.ts";
import { admissionForbidden } from "../../machinery/registry/admission.ts";
import { defaultAccountName } from "./default-service-account.ts";
import type { ServiceAccount } from "./service-accounts.ts";

type AccountFields = Omit<ServiceAccount, "apiVersion" | "kind">;

interface ServiceAccountRuleOptions {
  readonly names: Names;
  /** Appends a few random letters to a prefix. */
  generateName(prefix: string): string;
  /** Finds the account in the newest state: every acknowledged write is applied. */
  findServiceAccount(namespace: string, name: string): AccountFields | undefined | Promise<AccountFields | undefined>;
  pause(milliseconds: number): Promise<void>;
}

/**
 * The pauses between look-ups of a namespace's `default` account. A controller creates it soon after the namespace, and a manifest may have
 * a Pod right behind its namespace. Upstream looks it up ten times, also in about a second.
 */
const pausesMilliseconds = [10, 20, 40, 80, 160, 320, 640];

/**
 * Makes sure that a Pod runs as an existing service account; the default is `default`. The Pod takes its image pull secrets from the
 * account. If the account's annotation demands it, the Pod may use only secrets that the account lists. The Pod's containers get a token of
 * the account, unless the Pod disables this, or the Pod says nothing and the account disables it. Mirror Pods, which nodes create for their
 * own files, must not name an account (upstream: ServiceAccount).
 */
export function serviceAccountRule(options: ServiceAccountRuleOptions): AdmissionRule {
  const { names, findServiceAccount, pause } = options;
  const enforceAnnotations = spellingsOf(names, (one) => one.key("enforce-mountable-secrets"));

  async function accountOf(attributes: AdmissionAttributes, name: string): Promise<AccountFields> {
    const { namespace } = attributes;
    let account = await findServiceAccount(namespace, name);
    for (const milliseconds of name === defaultAccountName ? pausesMilliseconds : []) {
      if (account !== undefined) break;
      await pause(milliseconds);
      account = await findServiceAccount(namespace, name);
    }
    if (account !== undefined) return account;
    const missing = `serviceaccount ${JSON.stringify(name)} not found`;
    throw admissionForbidden(attributes, `error looking up service account ${namespace}/${name}: ${missing}`);
  }

  return {
    name: "ServiceAccount",
    appliesTo: ({ operation, group, resource, subresource }) =>
      operation === "CREATE" && group === "" && resource === "pods" && subresource === "",
    async admit(attributes) {
      if (attributes.object === undefined) return undefined;
      const pod = asPod(attributes.object);
      if (isMirrorPod(pod, names)) {
        checkMirrorPod(attributes, podReferences(pod));
        return pod;
      }
      const name = pod.spec.serviceAccountName || defaultAccountName;
      const account = await accountOf(attributes, name);
      const hasPullSecrets = (pod.spec.imagePullSecrets ?? []).length > 0;
      const pullSecrets = account.imagePullSecrets ?? [];
      const placed: Pod = {
        ...pod,
        spec: {
          ...pod.spec,
          serviceAccountName: name,
          serviceAccount: name,
          ...(!hasPullSecrets && pullSecrets.length > 0 && { imagePullSecrets: [...pullSecrets] }),
        },
      };
      const getsToken = pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
      const admitted = getsToken ? withTokenVolume(placed, options) : placed;
      // The annotation counts in either spelling.
      if (enforceAnnotations.some((key) => isTrueInGo(account.metadata.annotations?.[key]))) {
        checkSecrets(attributes, { pod: admitted, account, references: podReferences(admitted) });
      }
      return admitted;
    },
  };
}

function checkMirrorPod(attributes: AdmissionAttributes, references: readonly Reference[]): void {
  if (references.some(({ kind, name }) => kind === "ServiceAccount" && name !== "")) {
    throw admissionForbidden(attributes, "a mirror pod may not reference service accounts");
  }
  if (references.some(({ kind }) => kind === "Secret")) {
    throw admissionForbidden(attributes, "a mirror pod may not reference secrets");
  }
  if (references.some(({ kind }) => kind === "ServiceAccount")) {
    throw admissionForbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

interface SecretsCheck {
  readonly pod: Pod;
  readonly account: AccountFields;
  readonly references: readonly Reference[];
}

/** Every Secret of the Pod must be in the account's lists. Image pull secrets have their own list. */
function checkSecrets(attributes: AdmissionAttributes, { pod, account, references }: SecretsCheck): void {
  const accountName = account.metadata.name ?? "";
  const listed = new Set((account.secrets ?? []).map(({ name = "" }) => name));
  const pulling = new Set((account.imagePullSecrets ?? []).map(({ name = "" }) => name));
  const secrets = references.filter(({ kind }) => kind === "Secret");
  const isForPulling = ({ path }: Reference): boolean => path.startsWith("spec.imagePullSecrets[");
  const mounted = secrets.find((one) => !isForPulling(one) && !listed.has(one.name));
  if (mounted !== undefined) {
    throw admissionForbidden(
      attributes,
      `${useOf(pod, mounted)} secret.secretName="${mounted.name}" is not allowed because service account ${accountName} does not reference that secret`,
    );
  }
  const pulled = secrets.find((one) => isForPulling(one) && !pulling.has(one.name));
  if (pulled === undefined) return;
  throw admissionForbidden(
    attributes,
    `${pulled.path.slice("spec.".length)}.name="${pulled.name}" is not allowed because service account ${accountName} does not reference that imagePullSecret`,
  );
}

const containerWords = {
  initContainers: "init container",
  containers: "container",
  ephemeralContainers: "ephemeral container",
} as const;

/** The description of how a Pod uses a Secret, in upstream's words. */
function useOf({ spec }: Pod, { path }: Reference): string {
  const found = /^spec\.(initContainers|containers|ephemeralContainers)\[(\d+)\]\.(env|envFrom)\[(\d+)\]/.exec(path);
  if (found === null) return "volume with";
  const field = found[1] as keyof typeof containerWords; // the pattern guarantees it
  const container = spec[field]?.[Number(found[2])];
  const source = found[3] === "env" ? `envVar ${container?.env?.[Number(found[4])]?.name ?? ""}` : "envFrom";
  return `${containerWords[field]} ${container?.name ?? ""} with ${source} referencing`;
}
