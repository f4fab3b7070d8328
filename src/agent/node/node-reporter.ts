import { nodeResource } from "../../features/nodes/resources.ts";
import type { Node } from "../../features/nodes/resources.ts";
import { isLoopback } from "../../machinery/api/addresses/is-loopback.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import { Repetition } from "../../machinery/loops/repetition.ts";
import { traced } from "../../machinery/tracing/loop-trace.ts";
import type { NodeParts } from "../agent-parts.ts";
import type { AgentSettings } from "../agent-settings.ts";
import { addressTowards, nodeSystemInfo } from "./machine.ts";
import type { NodeSystemInfo } from "./machine.ts";
import { registerNode } from "./node-registration.ts";
import { wantedServiceCertificate, wantedServingCertificate } from "../certificates/wanted-certificate.ts";
import type { MachineNames } from "../certificates/wanted-certificate.ts";
import { WithdrawnCertificates } from "../certificates/withdrawn-certificates.ts";

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
  readonly #withdrawn: WithdrawnCertificates;

  /** Stops reporting when `signal` aborts. */
  constructor(parts: NodeParts, signal: AbortSignal) {
    const { names, settings, version, identity, failureLog, random, sleep } = parts;
    this.#parts = parts;
    this.#signal = signal;
    this.#withdrawn = new WithdrawnCertificates(parts);
    this.#nodeInfo = nodeSystemInfo(`signet-agent/${version}`);
    this.#nodes = identity.connection.node.resource(nodeResource(names));
    const outage = failureLog({
      failure: "could not report the node",
      recovery: "reported the node again",
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

  /** The uid of the Node. Registers the Node first when it is missing. */
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
    this.#node = undefined; // the server may have answered with anything: after a failure, the Node is read again
    const node = await registerNode({ names, nodes: this.#nodes, log, known }, report);
    this.#node = node;
    await this.#withdrawn.check(this.#signal);
    // Only after the registration, because approvers compare the requests with the Node.
    const named = { nodeName, ...machine };
    serving.manager.specify({ names, wanted: wantedServingCertificate(names, named) });
    for (const { manager, service } of services) {
      manager.specify({ names, wanted: wantedServiceCertificate(service, named) });
    }
    return node;
  }
}

/**
 * The node's name with the DNS names of the settings, and the addresses of the settings. Default for the addresses: the address from which
 * the machine reaches a server.
 */
async function machineNames(
  { nodeName, dnsNames, nodeIpAddresses, servers }: AgentSettings,
  signal: AbortSignal,
): Promise<MachineNames> {
  return {
    dnsNames: [...new Set([nodeName, ...dnsNames])],
    ipAddresses: nodeIpAddresses.length > 0 ? nodeIpAddresses : [await addressTowards(servers, signal)],
  };
}
