/** `signet/client`: a typed client of the API, and the building blocks of controllers. */
import { ApiClient } from "../machinery/client/api-client.ts";
import { httpsTransport } from "../machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../machinery/client/kubeconfig/kubeconfig.ts";
import type { KubeconfigSelection } from "../machinery/client/kubeconfig/kubeconfig.ts";

/** A client of the server that a kubeconfig names. Default: `$KUBECONFIG`, else `~/.kube/config`. Throws KubeconfigError. */
export const connect = (selection: KubeconfigSelection = {}): ApiClient =>
  new ApiClient(httpsTransport(readKubeconfig(selection).transport));

export { ApiError } from "../machinery/api/api-error.ts";
export { systemClock, systemSchedule } from "../machinery/api/clock.ts";
export type { Clock, Schedule } from "../machinery/api/clock.ts";
export { kubernetesNames, platformNames } from "../machinery/api/names.ts";
export type { Names, Profile } from "../machinery/api/names.ts";
export type { ApiList, ApiObject, ObjectMeta } from "../machinery/api/object-meta.ts";
export type { PatchType } from "../machinery/api/patch-type.ts";
export { resourceType } from "../machinery/api/resource-type.ts";
export type { NamedResourceType, ResourceType } from "../machinery/api/resource-type.ts";
export type { Status } from "../machinery/api/status.ts";

export { ApiClient, ResourceClient } from "../machinery/client/api-client.ts";
export type {
  DeleteOptions,
  ListOptions,
  NewObject,
  WatchOptions,
  WriteOptions,
} from "../machinery/client/api-client.ts";
export { httpsTransport } from "../machinery/client/https/https-transport.ts";
export type { HttpsTransportOptions } from "../machinery/client/https/https-transport.ts";
export { parseKubeconfig, readKubeconfig } from "../machinery/client/kubeconfig/kubeconfig.ts";
export type { KubeconfigContext, KubeconfigSelection } from "../machinery/client/kubeconfig/kubeconfig.ts";
export { KubeconfigError } from "../machinery/client/kubeconfig/kubeconfig-error.ts";
export { formatKubeconfig } from "../machinery/client/kubeconfig/new-kubeconfig.ts";
export type { KubeconfigContents } from "../machinery/client/kubeconfig/new-kubeconfig.ts";
export { namesOfServer } from "../machinery/client/names-of-server.ts";
export type { TlsCredentials } from "../machinery/client/https/tls-options.ts";
export type { ClientRequest, ClientResponse, Transport } from "../machinery/client/transport.ts";
export type { WatchEvent } from "../machinery/client/watch-events.ts";

export { Informer } from "../machinery/loops/informer.ts";
export type { InformerHandler, InformerOptions } from "../machinery/loops/informer.ts";
export { LeaderElection } from "../machinery/loops/leader-election.ts";
export type { LeaderElectionOptions } from "../machinery/loops/leader-election.ts";
export { hasProcessEnded, processIdentity } from "../machinery/loops/process-identity.ts";
export { WorkQueue } from "../machinery/loops/work-queue.ts";
export type { WorkQueueOptions } from "../machinery/loops/work-queue.ts";

export * from "../features/access/resources.ts";
export * from "../features/accounts/resources.ts";
export * from "../features/certificates/resources.ts";
export * from "../features/core/resources.ts";
export * from "../features/nodes/resources.ts";
