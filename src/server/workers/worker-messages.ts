/** Messages of a worker to the process that started it. */
export type FromWorker =
  /** The worker serves. */
  | { readonly type: "ready"; readonly url: string; readonly kubeconfigFile: string }
  /** The worker wrote to the store. */
  | { readonly type: "written" }
  /** The answer to `probe`. */
  | { readonly type: "alive" }
  /** Somebody signalled this worker alone to stop. */
  | { readonly type: "asks-to-stop" }
  /** The worker needs the metrics of all other workers. `text` has its own. */
  | { readonly type: "collect-metrics"; readonly id: number; readonly text: string }
  /** The worker's own metrics, as the answer to `tell-metrics`. */
  | { readonly type: "metrics"; readonly id: number; readonly text: string };

/** Messages to a worker. */
export type ToWorker =
  /** The first message: the worker starts its server on this port. */
  | { readonly type: "serve"; readonly port: number }
  /** Another process wrote to the store, or may have. */
  | { readonly type: "written" }
  /** The worker must answer: one that hangs is killed and replaced. */
  | { readonly type: "probe" }
  /** This worker runs the controllers and compaction from now on. */
  | { readonly type: "run-loops" }
  /** How much the worker logs from now on. It also reads the files again that settings name, where they have changed. */
  | { readonly type: "reload"; readonly logLevel: string }
  /** The worker must send its own metrics. */
  | { readonly type: "tell-metrics"; readonly id: number }
  /** The metrics of the other workers, as the answer to `collect-metrics`. */
  | { readonly type: "collected-metrics"; readonly id: number; readonly texts: readonly string[] }
  /** The worker takes no more requests, and ends when those that run are answered or the grace period is over. */
  | { readonly type: "stop"; readonly graceMilliseconds: number };
