/** Messages of a worker to the process that started it. */
export type FromWorker =
  | { readonly type: "ready"; readonly url: string; readonly kubeconfigFile: string }
  /** The worker wrote to the store. */
  | { readonly type: "written" }
  /** Somebody signalled this worker alone to stop. */
  | { readonly type: "asks-to-stop" }
  /** The worker needs the metrics of all other workers. */
  | { readonly type: "collect-metrics"; readonly id: number }
  /** The worker's own metrics, as the answer to `tell-metrics`. */
  | { readonly type: "metrics"; readonly id: number; readonly text: string };

/** Messages to a worker. */
export type ToWorker =
  | { readonly type: "serve"; readonly port: number }
  /** Another process wrote to the store, or may have. */
  | { readonly type: "written" }
  /** This worker runs the controllers and compaction from now on. */
  | { readonly type: "run-loops" }
  /** How much the worker logs from now on. It also reads the files again that settings name, where they have changed. */
  | { readonly type: "reload"; readonly logLevel: string }
  /** The worker must send its own metrics. */
  | { readonly type: "tell-metrics"; readonly id: number }
  /** The metrics of the other workers, as the answer to `collect-metrics`. */
  | { readonly type: "collected-metrics"; readonly id: number; readonly texts: readonly string[] }
  | { readonly type: "stop"; readonly graceMilliseconds: number };
