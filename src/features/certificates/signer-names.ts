import { computedOnce } from "../../machinery/api/computed-once.ts";
import type { Names } from "../../machinery/api/names.ts";

/** The names of the server's own signers, for the `spec.signerName` of requests and bundles. */
export const signerNames = {
  apiserverClient: (names: Names) =>
    inDomain(names, { platform: "apiserver-client", kubernetes: "kube-apiserver-client" }),
  apiserverClientNodeAgent: (names: Names) =>
    inDomain(names, { platform: "apiserver-client-nodeagent", kubernetes: "kube-apiserver-client-kubelet" }),
  nodeAgentServing: (names: Names) => inDomain(names, { platform: "nodeagent-serving", kubernetes: "kubelet-serving" }),
  /** Signs the server's own certificate, and no requests. Its bundle has the CAs that the server's clients trust. */
  apiserverServing: (names: Names) =>
    inDomain(names, { platform: "apiserver-serving", kubernetes: "kube-apiserver-serving" }),
  /** The legacy signer. New requests must not name it. */
  legacyUnknown: (names: Names) => inDomain(names, { platform: "legacy-unknown", kubernetes: "legacy-unknown" }),
} as const;

const inDomain = ({ domain, profile }: Names, words: Readonly<Record<Names["profile"], string>>): string =>
  `${domain}/${words[profile]}`;

/** The part of a signer's name before its slash. */
export const signerDomain = (signerName: string): string => signerName.split("/", 1)[0] ?? "";

/** The name in permissions for every signer of the domain. */
const everySigner = ({ domain }: Names): string => `${domain}/*`;

/**
 * A signer's name in the spelling of `names`, whichever of the two spellings it has. All decisions about a signer (permission, approval,
 * restriction, CA, selector) compare these names. Names of other signers stay the same.
 */
export function ownSignerName(names: Names, signerName: string): string {
  return signerName.includes("/") ? (ownNames(names).get(signerName) ?? signerName) : signerName;
}

/** The names of the server's own signers, by their names in the other spelling. */
const ownNames = computedOnce((names: Names): ReadonlyMap<string, string> => {
  const { other } = names;
  if (other === undefined) return new Map();
  return new Map([...Object.values(signerNames), everySigner].map((nameIn) => [nameIn(other), nameIn(names)]));
});
