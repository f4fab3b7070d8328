import type { Log } from "../../machinery/logging/log.ts";
import { certificateRequestState } from "../../features/certificates/requests/certificate-request-state.ts";
import type { CertificateRequestState } from "../../features/certificates/requests/certificate-request-state.ts";
import {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
} from "../../features/certificates/resources.ts";
import type { CertificateSigningRequest } from "../../features/certificates/requests/certificate-signing-request-schema.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";
import { storedAs } from "../../machinery/registry/definition/resource-definition.ts";
import type { ObservedWrite } from "../../machinery/registry/resource-registry.ts";
import { controllersUser, serverUser } from "../loopback-users.ts";
import type { DomainCounters } from "./domain-counters.ts";

interface WriteObserverOptions {
  readonly names: Names;
  readonly log: Log;
  readonly counters: DomainCounters;
  /** The label of a signer's name: one of the signers that the server knows, or `other`. */
  signerLabel(signerName: string): string;
}

const keyOf = ({ group, plural }: Pick<ResourceType, "group" | "plural">): string => `${group}/${plural}`;

const requestMessages: Partial<Record<CertificateRequestState, string>> = {
  approved: "certificate request approved",
  denied: "certificate request denied",
  failed: "certificate request failed",
  issued: "certificate issued",
};

/**
 * Counts and logs the decisions in this process's writes: certificates issued, denied and failed, and changes of permissions. A write is
 * observed once, in the process that made it, whether a client or a loop made it.
 */
export function writeObserver({
  names,
  log,
  counters,
  signerLabel,
}: WriteObserverOptions): (write: ObservedWrite) => void {
  const requests = keyOf(certificateSigningRequestResource(names));
  const access = names.group("rbac.authorization");
  const controllers = controllersUser(names).username;
  const policies = new Set([
    ...["roles", "rolebindings", "clusterroles", "clusterrolebindings"].map((plural) => `${access}/${plural}`),
    keyOf(clusterTrustBundleResource(names)),
  ]);

  const onRequest = ({ previous, next, username }: ObservedWrite): void => {
    // A new request is always pending. Only later writes decide on it.
    if (previous === undefined) return;
    const request = next?.object as CertificateSigningRequest | undefined; // a write of this resource
    if (request === undefined) return;
    const state = certificateRequestState(request);
    const before = certificateRequestState(previous.object as CertificateSigningRequest); // of this resource
    if (state === before) return;
    const { signerName, username: requester } = request.spec;
    const signer = signerLabel(signerName);
    if (state === "issued") counters.issued.inc({ signer });
    if (state === "denied") counters.denied.inc({ signer });
    if (state === "failed") counters.failed.inc({ signer });
    const message = requestMessages[state];
    if (message === undefined) return;
    log.info({ request: request.metadata.name, signer: signerName, requester, by: username }, message);
  };

  const onPolicy = ({ definition, previous, next, username }: ObservedWrite): void => {
    // Changes that follow from defaults or from other roles are not logged, because no user made them.
    if (username === serverUser.username || (username === controllers && storedAs(definition).group === access)) return;
    const { namespace, name } = (next ?? previous)?.object.metadata ?? {};
    const change = next === undefined ? "deleted" : previous === undefined ? "created" : "changed";
    log.info({ kind: definition.kind, ...(namespace && { namespace }), name, by: username }, `policy ${change}`);
  };

  const observers = new Map<ObservedWrite["definition"], ((write: ObservedWrite) => void) | undefined>();
  const observerOf = (definition: ObservedWrite["definition"]): ((write: ObservedWrite) => void) | undefined => {
    const key = keyOf({ ...definition, ...storedAs(definition) });
    return key === requests ? onRequest : policies.has(key) ? onPolicy : undefined;
  };
  return (write) => {
    const { definition } = write;
    if (!observers.has(definition)) observers.set(definition, observerOf(definition));
    observers.get(definition)?.(write);
  };
}
