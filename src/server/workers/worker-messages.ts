/** Messages of a worker to the process that started it. */
export type FromWorker =
  /** The worker serves. */
  | { readonly type: "ready"; readonly url: string; readonly kubeconfigFile: string }
  /** The worker wrote to the store. */
  | { readonly type: "written" }
  /** The answer to `probe`. */
  | { readonly type: "alive" }
  /** Somebody sent a stop signal to only this worker. */
  | { readonly type: "asks-to-stop" }
  /** The worker needs the metrics of all other workers. `text` contains its own. */
  | { readonly type: "collect-metrics"; readonly id: number; readonly text: string }
  /** The worker's own metrics, as the answer to `tell-metrics`. */
  | { readonly type: "metrics"; readonly id: number; readonly text: string };

/** Messages to a worker. */
export type ToWorker =
  /** The first message: the worker starts its server on this port. */
  | { readonly type: "serve"; readonly port: number }
  /** Another process wrote to the store, or may have. */
  | { readonly type: "written" }
  /** The worker must answer. A worker that hangs is killed and replaced. */
  | { readonly type: "probe" }
  /** The worker runs the controllers and compaction from now on. */
  | { readonly type: "run-loops" }
  /** The new log level. The worker also reads the changed files that settings name. */
  | { readonly type: "reload"; readonly logLevel: string }
  /** The worker must send its own metrics. */
  | { readonly type: "tell-metrics"; readonly id: number }
  /** The metrics of the other workers, as the answer to `collect-metrics`. */
  | { readonly type: "collected-metrics"; readonly id: number; readonly texts: readonly string[] }
  /** The worker accepts no more requests, and ends when the running requests are answered or the grace period is over. */
  | { readonly type: "stop"; readonly graceMilliseconds: number };
