import { LeaseHeartbeat } from "../../src/agent/node/lease-heartbeat.ts";
import { registerNode } from "../../src/agent/node/node-registration.ts";
import type { NodeReport } from "../../src/agent/node/node-registration.ts";
import { nodeSystemInfo } from "../../src/agent/node/machine.ts";
import { requestCertificate } from "../../src/agent/certificates/request-certificate.ts";
import { wantedClientCertificate, wantedServingCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import type { WantedCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
} from "../../src/features/certificates/resources.ts";
import { leaseResource } from "../../src/features/core/resources.ts";
import { nodeResource } from "../../src/features/nodes/resources.ts";
import type { Node } from "../../src/features/nodes/resources.ts";
import { systemClock, sleep } from "../../src/machinery/api/clock.ts";
import type { Names } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { namesOfServer } from "../../src/machinery/client/names-of-server.ts";

export interface FleetAgentOptions {
  readonly server: string;
  readonly caCertificates: string;
  readonly names: Names;
  readonly bootstrapToken: string;
  /** 0 to 65,535. The name and the address of the machine are made from this number. */
  readonly index: number;
}

/** A machine of a simulated fleet. It sends what an agent sends, over connections of its own, and keeps nothing on disk. */
export class FleetAgent {
  readonly #options: FleetAgentOptions;
  readonly #name: string;
  readonly #address: string;
  #client: ApiClient;
  #heartbeat: LeaseHeartbeat | undefined;
  #beating: Promise<void> | undefined;

  constructor(options: FleetAgentOptions) {
    const { server, caCertificates, bootstrapToken, index } = options;
    this.#options = options;
    this.#name = `fleet-${index}`;
    this.#address = `10.9.${index >> 8}.${index & 255}`;
    this.#client = new ApiClient(httpsTransport({ server, caCertificates, bearerToken: () => bootstrapToken }));
  }

  /** From a bootstrap token to both certificates, a Node that is ready, and a Lease. */
  async enrol(): Promise<void> {
    const { names } = this.#options;
    await namesOfServer(this.#client);
    await this.renewClientCertificate();
    const node = await this.#report({ isReady: false });
    this.#heartbeat = this.#newHeartbeat(node.metadata.uid);
    await this.#heartbeat.beat();
    await this.#obtain(wantedServingCertificate(names, { nodeName: this.#name, ...this.#machine() }));
    await this.#report({ isReady: true, known: node });
  }

  /** A new key and a new certificate, and new connections with them. */
  async renewClientCertificate(): Promise<void> {
    const { server, caCertificates, names } = this.#options;
    const clientCertificate = await this.#obtain(wantedClientCertificate(names, this.#name));
    const previous = this.#client;
    this.#client = new ApiClient(httpsTransport({ server, caCertificates, clientCertificate }));
    previous.close();
    if (this.#heartbeat !== undefined) this.#heartbeat = this.#newHeartbeat(undefined);
  }

  /** Renews the Lease. Waits for a late renewal first, because an agent never has two in flight. */
  beat(): Promise<void> {
    this.#beating ??= (this.#heartbeat?.beat() ?? Promise.resolve()).finally(() => (this.#beating = undefined));
    return this.#beating;
  }

  /** Follows a trust bundle until `signal` aborts. */
  async followBundle(
    name: string,
    { onEvent, signal }: { readonly onEvent: () => void; readonly signal: AbortSignal },
  ): Promise<void> {
    const bundles = this.#client.resource(clusterTrustBundleResource(this.#options.names));
    const { metadata } = await bundles.list({ fieldSelector: `metadata.name=${name}` });
    const selection = { fieldSelector: `metadata.name=${name}`, resourceVersion: metadata.resourceVersion ?? "" };
    const follow = async (): Promise<void> => {
      for await (const { type } of bundles.watch(selection, signal)) if (type === "MODIFIED") onEvent();
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) console.error(`${this.#name}: ${String(error)}`);
    });
  }

  close(): void {
    this.#client.close();
  }

  async #obtain(wanted: WantedCertificate): Promise<{ certificate: string; key: string }> {
    const { names } = this.#options;
    let key: string | undefined;
    const pair = await requestCertificate(
      {
        wanted,
        lifetimeSeconds: undefined,
        requestPrefix: "node-csr-",
        requests: this.#client.resource(certificateSigningRequestResource(names)),
        store: {
          pendingKey: () => key,
          keepPendingKey: (made) => void (key = made),
          forgetPendingKey: () => void (key = undefined),
        },
        clock: systemClock,
        sleep,
        onCreated: () => {},
        onWaiting: () => {},
      },
      new AbortController().signal,
    );
    return { certificate: pair.certificatePem, key: pair.keyPem };
  }

  #newHeartbeat(nodeUid: string | undefined): LeaseHeartbeat {
    const { names } = this.#options;
    return new LeaseHeartbeat({
      names,
      nodeName: this.#name,
      leaseDurationSeconds: 40,
      leases: this.#client.resource(leaseResource(names), names.namespaces.nodeLease),
      clock: systemClock,
      registeredNodeUid: () => Promise.resolve(nodeUid),
    });
  }

  #machine(): NodeReport["machine"] {
    return { dnsNames: [this.#name], ipAddresses: [this.#address] };
  }

  #report({ isReady, known }: { readonly isReady: boolean; readonly known?: Node }): ReturnType<typeof registerNode> {
    const { names } = this.#options;
    return registerNode(
      {
        names,
        nodes: this.#client.resource(nodeResource(names)),
        log: { info: noLog, warn: noLog, error: noLog },
        known,
      },
      {
        nodeName: this.#name,
        machine: this.#machine(),
        nodeInfo,
        port: 10250,
        isReady,
        now: systemClock.now(),
      },
    );
  }
}

const noLog = (): void => undefined;
const nodeInfo = nodeSystemInfo("signet-agent/bench");
