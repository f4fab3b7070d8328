import { clusterTrustBundleResource, signerNames } from "../features/certificates/resources.ts";
import { nodeResource } from "../features/nodes/resources.ts";
import type { Node } from "../features/nodes/resources.ts";
import { isLoopback } from "../machinery/api/is-loopback.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import { Repetition } from "../machinery/loops/repetition.ts";
import { traced } from "../machinery/tracing/loop-trace.ts";
import type { NodeParts } from "./agent-parts.ts";
import type { FailureLog } from "./failure-log.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { addressTowards, nodeSystemInfo } from "./machine.ts";
import type { NodeSystemInfo } from "./machine.ts";
import { readRecall } from "./read-recall.ts";
import { readRevocation } from "./read-revocation.ts";
import { registerNode } from "./node-registration.ts";
import { wantedServiceCertificate, wantedServingCertificate } from "./wanted-certificate.ts";
import type { MachineNames } from "./wanted-certificate.ts";

/** How often a kubelet reports an unchanged status. */
const statusIntervalMilliseconds = 5 * 60_000;

/** Registers the machine's Node and reports its status. Its addresses decide what the machine's certificates must contain. */
export class NodeReporter {
  /** Reports at an interval, and at once on request. */
  readonly reports: Repetition;
  readonly #parts: NodeParts;
  readonly #nodes: ResourceClient<Node>;
  readonly #nodeInfo: NodeSystemInfo;
  /** The Node in the server's last answer. */
  #node: Node | undefined;
  /** The report that is being sent. */
  #registering: Promise<Node> | undefined;
  readonly #signal: AbortSignal;
  readonly #recallOutage: FailureLog;
  readonly #revocationOutage: FailureLog;

  /** Nothing is reported any more after `signal` has aborted. */
  constructor(parts: NodeParts, signal: AbortSignal) {
    const { names, settings, version, identity, failureLog, random, sleep } = parts;
    this.#parts = parts;
    this.#signal = signal;
    this.#nodeInfo = nodeSystemInfo(`signet-agent/${version}`);
    this.#nodes = identity.connection.node.resource(nodeResource(names));
    const outage = failureLog({
      failure: "could not report the node",
      recovery: "reported the node again",
    });
    this.#revocationOutage = failureLog({
      failure: "could not look whether certificates are revoked",
      recovery: "looked again whether certificates are revoked",
    });
    this.#recallOutage = failureLog({
      failure: "could not look whether certificates are recalled",
      recovery: "looked again whether certificates are recalled",
    });
    const reportNode = traced("node", async () => {
      this.#registering = this.#register();
      await this.#registering.finally(() => (this.#registering = undefined));
      outage.succeeded();
      return "reported";
    });
    this.reports = new Repetition(() => reportNode(settings.nodeName), {
      intervalMilliseconds: statusIntervalMilliseconds,
      random,
      sleep,
      onFailure: (error) => outage.failed(error),
    });
  }

  /** The uid of the Node, which is registered first where it is missing. */
  async registeredUid(): Promise<string | undefined> {
    return (await (this.#registering ?? this.#register())).metadata.uid;
  }

  async #register(): Promise<Node> {
    const { names, settings, log, listener, serverClock, serving, services } = this.#parts;
    const { nodeName } = settings;
    const machine = await machineNames(settings, this.#signal);
    const report = {
      nodeName,
      machine,
      nodeInfo: this.#nodeInfo,
      port: isLoopback(settings.listenAddress) ? 0 : listener.port,
      isReady: (serving.manager.current?.certificate.notAfter ?? 0) > serverClock.now(),
      now: serverClock.now(),
    };
    const known = this.#node;
    this.#node = undefined; // the server may have answered with anything: after a failure, it is asked again
    const node = await registerNode({ names, nodes: this.#nodes, log, known }, report);
    this.#node = node;
    await this.#lookForRecalls();
    await this.#lookForRevocations();
    // Only now, because approvers compare the requests with the Node.
    const named = { nodeName, ...machine };
    serving.manager.specify({ names, wanted: wantedServingCertificate(names, named) });
    for (const { manager, service } of services) {
      manager.specify({ names, wanted: wantedServiceCertificate(service, named) });
    }
    return node;
  }

  /** A failure changes nothing for its signer, and the next report looks again. */
  async #lookForRecalls(): Promise<void> {
    const { names, identity, client, serving, services, serverClock } = this.#parts;
    const bundles = identity.connection.node.resource(clusterTrustBundleResource(names));
    const certificates = [
      { signerName: signerNames.apiserverClientNodeAgent(names), manager: client.manager },
      { signerName: signerNames.nodeAgentServing(names), manager: serving.manager },
      ...services.map(({ service, manager }) => ({ signerName: service.signerName, manager })),
    ];
    let hasFailed = false;
    for (const signerName of new Set(certificates.map((one) => one.signerName))) {
      try {
        const issuedBefore = await readRecall({ names, bundles, signerName, now: serverClock.now() });
        for (const one of certificates) if (one.signerName === signerName) one.manager.recall(issuedBefore);
      } catch (error) {
        hasFailed = true;
        this.#recallOutage.failed(error, { signerName });
      }
    }
    if (!hasFailed) this.#recallOutage.succeeded();
  }

  /** The same. Nothing is asked about the client certificate: the server refuses it where it is revoked. */
  async #lookForRevocations(): Promise<void> {
    const { names, identity, serving, services } = this.#parts;
    const client = identity.connection.node;
    try {
      for (const { manager } of [serving, ...services]) {
        const pair = manager.current;
        if (pair === undefined) continue;
        if (await readRevocation({ names, client, certificate: pair.certificate })) manager.revoked(pair);
      }
      this.#revocationOutage.succeeded();
    } catch (error) {
      this.#revocationOutage.failed(error);
    }
  }
}

/** The names and addresses of the settings, or the address that the server sees. The node's name comes first. */
async function machineNames(
  { nodeName, dnsNames, nodeIpAddresses, servers }: AgentSettings,
  signal: AbortSignal,
): Promise<MachineNames> {
  return {
    dnsNames: [...new Set([nodeName, ...dnsNames])],
    ipAddresses: nodeIpAddresses.length > 0 ? nodeIpAddresses : [await addressTowards(servers, signal)],
  };
}
