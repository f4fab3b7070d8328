import { isWithinDomain } from "../../../machinery/api/addresses/is-within-domain.ts";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";

type Labels = Readonly<Record<string, string>>;

/**
 * The changed labels that a node must not change, in order: the labels of `node-restriction`, and the labels of the domain itself except
 * the few that describe a machine. With other labels, a node could attract Pods and read their Secrets (upstream: NodeRestriction's
 * `getForbiddenLabels`).
 */
export function forbiddenNodeLabels(
  names: Names,
  { next = {}, previous = {} }: { readonly next?: Labels | undefined; readonly previous?: Labels | undefined },
): string[] {
  const before = new Map(Object.entries(previous));
  const after = new Map(Object.entries(next));
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  return changed.filter((key) => spellingsOf(names, (one) => isForbidden(key, one)).includes(true)).sort();
}

function isForbidden(key: string, names: Names): boolean {
  const domain = key.includes("/") ? (key.split("/", 1)[0] ?? "") : "";
  const domains = names.profile === "kubernetes" ? [names.domain, "k8s.io"] : [names.domain];
  return domains.some((one) => isWithinDomain(domain, one)) && !isOfMachine(key, { domain, names });
}

/** Whether a label is one that a node may set on itself (upstream: `kubeletapis.IsKubeletLabel`). */
function isOfMachine(key: string, { domain, names }: { readonly domain: string; readonly names: Names }): boolean {
  if (isWithinDomain(domain, `kubelet.${names.domain}`) || isWithinDomain(domain, `node.${names.domain}`)) return true;
  return [
    names.key("hostname"),
    names.key("arch"),
    names.key("os"),
    names.subdomainKey("topology", "zone"),
    names.subdomainKey("topology", "region"),
    names.subdomainKey("failure-domain.beta", "zone"),
    names.subdomainKey("failure-domain.beta", "region"),
    names.subdomainKey("beta", "instance-type"),
    names.subdomainKey("beta", "os"),
    names.subdomainKey("beta", "arch"),
  ].includes(key);
}
