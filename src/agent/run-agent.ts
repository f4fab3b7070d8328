import { once } from "node:events";
import type { Names } from "../machinery/api/names.ts";
import { namesOfServer } from "../machinery/client/names-of-server.ts";
import { Repetition } from "../machinery/loops/repetition.ts";
import type { Backoff } from "../machinery/loops/backoff.ts";
import { traced } from "../machinery/tracing/loop-trace.ts";
import type { AgentParts, NodeParts } from "./agent-parts.ts";
import type { OpenFailureLog } from "./failure-log.ts";
import { LeaseHeartbeat, renewalIntervalMilliseconds } from "./node/lease-heartbeat.ts";
import { NodeReporter } from "./node/node-reporter.ts";
import { followTrustBundles } from "./files/trust-bundle-follower.ts";
import { wantedClientCertificate } from "./certificates/wanted-certificate.ts";
import { clusterTrustBundleResource } from "../features/certificates/resources.ts";
import { leaseResource } from "../features/core/resources.ts";

/** Shorter than the duration of the Lease, so that a short outage does not make the node look lost. */
const leaseBackoff: Backoff = { firstMilliseconds: 200, longestMilliseconds: 7000 };

/** Detects the server's naming profile, then obtains an identity, then starts everything else. Resolves after `signal` aborts. */
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
    // The server keeps one connection for each machine. If the certificate is refused one day, this connection is opened again.
    identity.connection.bootstrap.close();
    await Promise.all([renewals, signal.aborted ? undefined : runNode({ ...parts, names }, signal)]);
  }
  await Promise.all(published);
}

/** Detects the naming profile of the server. Undefined when the agent was stopped before the server answered. */
async function findNames(
  { identity, failureLog, random, sleep }: AgentParts,
  signal: AbortSignal,
): Promise<Names | undefined> {
  const found = new AbortController();
  const outage = failureLog({
    failure: "not connected to the server",
    recovery: "connected to the server",
  });
  let names: Names | undefined;
  const search = new Repetition(
    async () => {
      const client = identity.requestClient();
      if (client === undefined) throw new Error(identity.missingCredential);
      names = await namesOfServer(client);
      if (names === undefined) throw new Error("the server offers no authentication API");
      outage.succeeded();
      found.abort();
    },
    {
      intervalMilliseconds: 0,
      random,
      sleep,
      onFailure: (error) => outage.failed(error),
    },
  );
  await search.run(AbortSignal.any([signal, found.signal]));
  return names;
}

/** Everything that a machine with an identity does. */
async function runNode(parts: NodeParts, signal: AbortSignal): Promise<void> {
  const { names, log, identity, failureLog, random, sleep, serving, services } = parts;
  const reporter = new NodeReporter(parts, signal);
  parts.certificateInstalled.addEventListener("serving", () => reporter.reports.now(), { signal });
  const bundles = identity.connection.node.resource(clusterTrustBundleResource(names));
  const { onTrustBundle: onContents, onAnchors } = parts;
  const logged = new Map<string, number>();
  const bundleLog: OpenFailureLog = (texts) => failureLog({ ...texts, logged });
  await Promise.all([
    reporter.reports.run(signal),
    serving.manager.run(signal),
    ...services.map(({ manager }) => manager.run(signal)),
    heartbeats(parts, () => reporter.registeredUid()).run(signal),
    ...parts.settings.trustBundles.map((followed) =>
      followTrustBundles(
        { followed, names, bundles, failureLog: bundleLog, random, sleep, log, onContents, onAnchors },
        signal,
      ),
    ),
  ]);
}

const sharedLease =
  "another agent renews it too: does another machine have this node's name, or a copy of the data directory? give each machine its own";

/** Renews the node's Lease at its interval, and more often after a failure. */
function heartbeats(
  {
    names,
    settings: { nodeName, leaseDurationSeconds },
    metrics,
    identity,
    serverClock,
    failureLog,
    random,
    sleep,
  }: NodeParts,
  registeredNodeUid: () => Promise<string | undefined>,
): Repetition {
  const heartbeat = new LeaseHeartbeat({
    names,
    nodeName,
    leaseDurationSeconds,
    leases: identity.connection.node.resource(leaseResource(names), names.namespaces.nodeLease),
    clock: serverClock,
    registeredNodeUid,
  });
  const outage = failureLog({
    failure: "could not renew the node's lease",
    recovery: "renewed the node's lease again",
  });
  const sharing = failureLog({
    failure: "this node's lease changes between two renewals",
    recovery: "only this agent renews the node's lease now",
  });
  const beat = traced("lease", async () => {
    await heartbeat.beat();
    if (heartbeat.isShared) sharing.failed(new Error(sharedLease));
    else sharing.succeeded();
    return "renewed";
  });
  return new Repetition(
    async () => {
      await beat(nodeName);
      metrics.leaseRenewal("success");
      outage.succeeded();
    },
    {
      intervalMilliseconds: renewalIntervalMilliseconds(leaseDurationSeconds),
      backoff: leaseBackoff,
      random,
      sleep,
      onFailure: (error) => {
        metrics.leaseRenewal("failure");
        outage.failed(error);
      },
    },
  );
}
