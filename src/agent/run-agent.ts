import { once } from "node:events";
import { isLoopback } from "../machinery/api/is-loopback.ts";
import type { Names } from "../machinery/api/names.ts";
import { namesOfServer } from "../machinery/client/names-of-server.ts";
import { Repetition } from "../machinery/loops/repetition.ts";
import type { Backoff, Sleep } from "../machinery/loops/repetition.ts";
import { traced } from "../machinery/tracing/loop-trace.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { LeaseHeartbeat, leaseIntervalMilliseconds } from "./lease-heartbeat.ts";
import { addressTowards, nodeSystemInfo } from "./machine.ts";
import { registerNode } from "./node-registration.ts";
import type { AgentListener } from "./agent-listener.ts";
import type { AgentLog } from "./agent-log.ts";
import type { AgentMetrics } from "./agent-metrics.ts";
import type { AgentSettings, ServiceCertificate } from "./agent-settings.ts";
import type { ManagedCertificate } from "./managed-certificate.ts";
import type { NodeIdentity } from "./node-identity.ts";
import type { ServerClock } from "./server-clock.ts";
import { followTrustBundles } from "./trust-bundle-follower.ts";
import type { TrustBundleState } from "./trust-bundle-follower.ts";
import { wantedClientCertificate, wantedServiceCertificate, wantedServingCertificate } from "./wanted-certificate.ts";
import type { MachineNames } from "./wanted-certificate.ts";
import { clusterTrustBundleResource } from "../features/certificates/resources.ts";
import { leaseResource } from "../features/core/resources.ts";
import { nodeResource } from "../features/nodes/resources.ts";
import type { Node } from "../features/nodes/resources.ts";

/** What the loops of an agent share. */
export interface AgentParts {
  readonly settings: AgentSettings;
  readonly version: string;
  readonly log: AgentLog;
  readonly metrics: AgentMetrics;
  readonly identity: NodeIdentity;
  readonly serverClock: ServerClock;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly listener: AgentListener;
  readonly client: ManagedCertificate;
  readonly serving: ManagedCertificate;
  readonly services: readonly (ManagedCertificate & { readonly service: ServiceCertificate })[];
  /** Says what the file of a trust bundle contains. */
  readonly onTrustBundle: (file: string, pem: string) => void;
  readonly onAnchors: (file: string, state: TrustBundleState) => void;
  /** Emits the name of a certificate after it was put into use. */
  readonly certificateInstalled: EventTarget;
}

/** How often a kubelet reports an unchanged status. */
const statusIntervalMilliseconds = 5 * 60_000;
/** Shorter than the duration of the Lease, so that a short outage does not make the node look lost. */
const leaseBackoff: Backoff = { firstMilliseconds: 200, longestMilliseconds: 7000 };

/** First the naming profile of the server, then an identity, then everything else. Resolves after `signal` aborts. */
export async function runAgent(parts: AgentParts, signal: AbortSignal): Promise<void> {
  const { client, serving, services, identity, settings, certificateInstalled } = parts;
  const published = [client, serving, ...services].map((one) => one.published.run(signal));
  const names = await findNames(parts, signal);
  if (names !== undefined) {
    client.manager.specify({ names, wanted: wantedClientCertificate(names, settings.nodeName) });
    const renewals = client.manager.run(signal);
    while (!identity.isEstablished && !signal.aborted) {
      await once(certificateInstalled, "client", { signal }).catch(() => {}); // rejects when the agent stops
    }
    // The server keeps one connection for each machine. If the certificate is refused some day, this one is opened again.
    identity.connection.bootstrap.close();
    await Promise.all([renewals, runNode({ ...parts, names }, signal)]);
  }
  await Promise.all(published);
}

/** Detects the naming profile of the server. Undefined when the agent was stopped before the server answered. */
async function findNames(
  { identity, log, random, sleep }: AgentParts,
  signal: AbortSignal,
): Promise<Names | undefined> {
  const found = new AbortController();
  let names: Names | undefined;
  const search = new Repetition(
    async () => {
      const client = identity.requestClient();
      if (client === undefined) throw new Error(identity.missingCredential);
      names = await namesOfServer(client);
      if (names === undefined) throw new Error("the server offers no authentication API");
      found.abort();
    },
    {
      intervalMilliseconds: 0,
      random,
      sleep,
      onFailure: (error, failures) => log.warn({ failures }, `not connected to the server: ${messageOf(error)}`),
    },
  );
  await search.run(AbortSignal.any([signal, found.signal]));
  return names;
}

/** Everything that a machine with an identity does. */
async function runNode(parts: AgentParts & { readonly names: Names }, signal: AbortSignal): Promise<void> {
  const { names, settings, log, metrics, identity, serverClock, random, sleep, serving, services } = parts;
  const { nodeName, trustBundles } = settings;
  const { node: client } = identity.connection;
  const nodeInfo = nodeSystemInfo(`signet-agent/${parts.version}`);
  const nodes = client.resource(nodeResource(names));
  let node: Node | undefined;
  let registering: Promise<Node> | undefined;

  const register = async (): Promise<Node> => {
    const machine = await machineNames(parts);
    const report = {
      nodeName,
      machine,
      nodeInfo,
      port: isLoopback(settings.listenAddress) ? 0 : parts.listener.port,
      isReady: (serving.manager.current?.certificate.notAfter ?? 0) > serverClock.now(),
      now: serverClock.now(),
    };
    node = await registerNode({ names, nodes, log, known: node }, report);
    // Only now, because approvers compare the requests with the Node.
    const named = { nodeName, ...machine };
    serving.manager.specify({ names, wanted: wantedServingCertificate(names, named) });
    for (const { manager, service } of services) {
      manager.specify({ names, wanted: wantedServiceCertificate(service, named) });
    }
    return node;
  };
  const reportNode = traced("node", async () => {
    registering = register();
    await registering.finally(() => (registering = undefined));
    return "reported";
  });
  const registration = new Repetition(() => reportNode(nodeName), {
    intervalMilliseconds: statusIntervalMilliseconds,
    random,
    sleep,
    onFailure: (error, failures) => log.warn({ failures }, `could not report the node: ${messageOf(error)}`),
  });
  parts.certificateInstalled.addEventListener("serving", () => registration.now(), { signal });

  const heartbeat = new LeaseHeartbeat({
    names,
    nodeName,
    leases: client.resource(leaseResource(names), names.namespaces.nodeLease),
    clock: serverClock,
    registeredNodeUid: async () => (await (registering ?? register())).metadata.uid,
  });
  const beat = traced("lease", async () => {
    await heartbeat.beat();
    return "renewed";
  });
  const heartbeats = new Repetition(
    async () => {
      await beat(nodeName);
      metrics.leaseRenewal("success");
    },
    {
      intervalMilliseconds: leaseIntervalMilliseconds,
      backoff: leaseBackoff,
      random,
      sleep,
      onFailure: (error, failures) => {
        metrics.leaseRenewal("failure");
        log.warn({ failures }, `could not renew the node's lease: ${messageOf(error)}`);
      },
    },
  );

  const bundles = client.resource(clusterTrustBundleResource(names));
  await Promise.all([
    registration.run(signal),
    serving.manager.run(signal),
    ...services.map(({ manager }) => manager.run(signal)),
    heartbeats.run(signal),
    ...trustBundles.map((followed) =>
      followTrustBundles(
        { followed, bundles, random, sleep, log, onContents: parts.onTrustBundle, onAnchors: parts.onAnchors },
        signal,
      ),
    ),
  ]);
}

/** The names and addresses of the settings, or the address that the server sees. The node's name comes first. */
async function machineNames({ settings }: AgentParts): Promise<MachineNames> {
  const { nodeName, dnsNames, nodeIpAddresses, servers } = settings;
  return {
    dnsNames: [...new Set([nodeName, ...dnsNames])],
    ipAddresses: nodeIpAddresses.length > 0 ? nodeIpAddresses : [await addressTowards(servers)],
  };
}
