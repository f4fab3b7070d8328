import { once } from "node:events";
import type { Names } from "../machinery/api/names.ts";
import { namesOfServer } from "../machinery/client/names-of-server.ts";
import { Repetition } from "../machinery/loops/repetition.ts";
import type { Backoff, Sleep } from "../machinery/loops/repetition.ts";
import { failureText } from "./agent-log.ts";
import { LeaseHeartbeat, leaseIntervalMilliseconds } from "./lease-heartbeat.ts";
import { addressTowards, nodeSystemInfo } from "./machine.ts";
import { registerNode } from "./node-registration.ts";
import type { AgentListener } from "./agent-listener.ts";
import type { AgentLog } from "./agent-log.ts";
import type { AgentMetrics } from "./agent-metrics.ts";
import type { AgentSettings } from "./agent-settings.ts";
import type { CertificateManager } from "./certificate-manager.ts";
import type { FileChange } from "./change-command.ts";
import type { NodeIdentity } from "./node-identity.ts";
import type { ServerClock } from "./server-clock.ts";
import { followTrustBundles } from "./trust-bundle-follower.ts";
import { wantedClientCertificate, wantedServingCertificate } from "./wanted-certificate.ts";
import type { MachineNames } from "./wanted-certificate.ts";
import { clusterTrustBundleResource } from "../features/certificates/resources.ts";
import { leaseResource } from "../features/core/resources.ts";
import { nodeResource } from "../features/nodes/resources.ts";

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
  readonly client: CertificateManager;
  readonly serving: CertificateManager;
  readonly onFileChange: (change: FileChange) => void;
  /** Called after a certificate was put to use; the loops set it. */
  readonly certificateInstalled: EventTarget;
}

/** As a kubelet reports a status that did not change. */
const statusIntervalMilliseconds = 5 * 60_000;
/** Shorter than the Lease lasts: a server that was away for a moment must not take the node for lost. */
const leaseBackoff: Backoff = { firstMilliseconds: 200, longestMilliseconds: 7000 };

/** The order of an agent's life: the server's names, an identity, then all the rest at once. Resolves after `signal` aborts. */
export async function runAgent(parts: AgentParts, signal: AbortSignal): Promise<void> {
  const names = await findNames(parts, signal);
  if (names === undefined) return;
  const { client, identity, settings, certificateInstalled } = parts;
  client.want({ names, wanted: wantedClientCertificate(names, settings.nodeName) });
  const renewals = client.run(signal);
  while (!identity.isEstablished && !signal.aborted) {
    await once(certificateInstalled, "client", { signal }).catch(() => {}); // rejects when the agent stops
  }
  await Promise.all([renewals, runNode(parts, names, signal)]);
}

/** Which names the server speaks. Undefined when the agent was stopped before it answered. */
async function findNames(
  { identity, log, random, sleep }: AgentParts,
  signal: AbortSignal,
): Promise<Names | undefined> {
  const found = new AbortController();
  let names: Names | undefined;
  const search = new Repetition(
    async () => {
      const client = identity.requestClient();
      if (client === undefined) throw new Error("there is neither a client certificate nor a bootstrap credential");
      names = await namesOfServer(client);
      if (names === undefined) throw new Error("the server offers no authentication API");
      found.abort();
    },
    {
      intervalMilliseconds: 0,
      random,
      sleep,
      onFailure: (error, failures) => log.warn({ failures }, `the server is of no use yet: ${failureText(error)}`),
    },
  );
  await search.run(AbortSignal.any([signal, found.signal]));
  return names;
}

/** Everything that a machine with an identity does. */
async function runNode(parts: AgentParts, names: Names, signal: AbortSignal): Promise<void> {
  const { settings, log, metrics, identity, serverClock, random, sleep, serving, onFileChange } = parts;
  const { nodeName } = settings;
  const { node: client } = identity.connection;
  const nodeInfo = nodeSystemInfo(`signet-agent/${parts.version}`);
  const nodes = client.resource(nodeResource(names));
  let nodeUid: string | undefined;

  const registration = new Repetition(
    async () => {
      const machine = await machineNames(parts);
      const report = {
        nodeName,
        machine,
        nodeInfo,
        port: parts.listener.port,
        isReady: (serving.current?.certificate.notAfter ?? 0) > serverClock.now(),
        now: serverClock.now(),
      };
      const node = await registerNode({ names, nodes, log }, report);
      nodeUid = node.metadata.uid;
      // Only now: who approves serving certificates compares them with the Node.
      serving.want({ names, wanted: wantedServingCertificate(names, { nodeName, ...machine }) });
    },
    {
      intervalMilliseconds: statusIntervalMilliseconds,
      random,
      sleep,
      onFailure: (error, failures) => log.warn({ failures }, `could not report the node: ${failureText(error)}`),
    },
  );
  parts.certificateInstalled.addEventListener("serving", () => registration.now(), { signal });

  const heartbeat = new LeaseHeartbeat({
    names,
    nodeName,
    leases: client.resource(leaseResource(names), names.namespaces.nodeLease),
    clock: serverClock,
    nodeUid: () => nodeUid,
  });
  const heartbeats = new Repetition(
    async () => {
      await heartbeat.beat();
      metrics.leaseRenewal("success");
    },
    {
      intervalMilliseconds: leaseIntervalMilliseconds,
      backoff: leaseBackoff,
      random,
      sleep,
      onFailure: (error, failures) => {
        metrics.leaseRenewal("failure");
        log.warn({ failures }, `could not renew the node's lease: ${failureText(error)}`);
      },
    },
  );

  await Promise.all([
    registration.run(signal),
    serving.run(signal),
    heartbeats.run(signal),
    ...settings.trustBundles.map((followed) =>
      followTrustBundles(
        {
          followed,
          bundles: client.resource(clusterTrustBundleResource(names)),
          random,
          sleep,
          log,
          onChanged: (file) => onFileChange({ change: "trust-bundle", file }),
          onAnchors: (file, count) => metrics.trustBundle(file, count),
        },
        signal,
      ),
    ),
  ]);
}

/** The names and addresses of the settings, or the address that the server sees. The node's name comes first. */
async function machineNames({ settings }: AgentParts): Promise<MachineNames> {
  const { nodeName, dnsNames, nodeIpAddresses, server } = settings;
  return {
    dnsNames: [...new Set([nodeName, ...dnsNames])],
    ipAddresses: nodeIpAddresses.length > 0 ? nodeIpAddresses : [await addressTowards(server)],
  };
}
