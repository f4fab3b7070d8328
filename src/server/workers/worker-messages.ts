/** Messages of a worker to the process that started it. */
export type FromWorker =
  | { readonly type: "ready"; readonly url: string; readonly kubeconfigFile: string }
  /** The worker wrote to the store. */
  | { readonly type: "written" };

/** Messages to a worker. */
export type ToWorker =
  | { readonly type: "serve"; readonly port: number }
  /** Another process wrote to the store, or may have. */
  | { readonly type: "written" }
  /** This worker runs the controllers and compaction from now on. */
  | { readonly type: "run-loops" }
  | { readonly type: "stop"; readonly graceMilliseconds: number };
