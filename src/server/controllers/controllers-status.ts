import { collectDefaultMetrics, Registry } from "prom-client";
import { systemClock } from "../../machinery/api/clock.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import type { Transport } from "../../machinery/client/transport.ts";
import { addCollectedMetric } from "../../machinery/http/metrics/collected-metric.ts";
import { probeAnswer } from "../../machinery/http/routes/probe-answer.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import type { ElectedState } from "../../machinery/loops/elected-controllers.ts";
import type { QueueCounts } from "../../machinery/loops/work-queue.ts";
import { outsideKeyObserver } from "../observation/outside-key-observer.ts";
import { addQueueMetrics } from "../observation/queue-metrics.ts";
import type { PlainAddress } from "../settings/listener-settings.ts";
import { startPlainListener } from "../../machinery/http/connections/plain-listener.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** Whether the server answered the last request. */
class LastAnswer {
  #failure: string | undefined;

  /** Why the last request had no answer. Undefined: it had one. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** A transport that records whether its requests are answered. */
  of(transport: Transport): Transport {
    return {
      send: async (request) => {
        try {
          const response = await transport.send(request);
          this.#failure = undefined;
          return response;
        } catch (error) {
          // A request that the caller cancelled says nothing about the server.
          if (request.signal?.aborted !== true) this.#failure = messageOf(error);
          throw error;
        }
      },
      close: () => transport.close(),
    };
  }
}

export interface ControllersStatusOptions {
  readonly address: PlainAddress;
  readonly log: Pick<Log, "info" | "error">;
  readonly queueCounts: QueueCounts;
  readonly state: () => ElectedState;
}

export interface ControllersStatus {
  readonly url: string;
  /** Receives the calls of keys outside the process, for the metrics. */
  readonly outsideKeys: OutsideKeyObserver;
  /** A transport whose answers decide whether the controllers are ready. */
  observed(transport: Transport): Transport;
  close(): Promise<void>;
}

/**
 * Serves `/livez`, `/healthz`, `/readyz` and `/metrics` of `signet controllers` over plain HTTP, read only and without secrets. A standby
 * counts as ready, because it can take over. Rejects when the address cannot be bound.
 */
export async function openControllersStatus(options: ControllersStatusOptions): Promise<ControllersStatus> {
  const { address, log, state } = options;
  const lastAnswer = new LastAnswer();
  const registry = registryOf(options);
  const faults = (): string[] => [
    ...(lastAnswer.failure === undefined ? [] : [lastAnswer.failure]),
    ...(state() === "starting" ? ["the controllers have not read all objects yet"] : []),
  ];
  const listener = await startPlainListener({
    ...address,
    isPortShared: false,
    log,
    answer: (request) =>
      probeAnswer(request, {
        faults,
        metrics: { contentType: registry.contentType, text: () => registry.metrics() },
      }),
  });
  log.info({ url: listener.url }, "serving /livez, /readyz and /metrics over plain HTTP");
  return {
    ...listener,
    outsideKeys: outsideKeyObserver(registry, systemClock),
    observed: (transport) => lastAnswer.of(transport),
  };
}

function registryOf({ queueCounts, state }: ControllersStatusOptions): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addQueueMetrics(registry, queueCounts);
  addCollectedMetric(registry, {
    type: "gauge",
    name: "leader_election_master_status",
    help: "1 while the controllers run in this process, 0 while it stands by.",
    labelNames: ["name"],
    read: () => [[{ name: "signet-controllers" }, state() === "standby" ? 0 : 1]],
  });
  return registry;
}
