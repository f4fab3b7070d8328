/** What a worker process tells the one that started it. */
export type FromWorker =
  | { readonly type: "ready"; readonly url: string; readonly kubeconfigFile: string }
  /** Something was written to the store. */
  | { readonly type: "written" };

/** What a worker process is told. */
export type ToWorker =
  | { readonly type: "serve"; readonly port: number }
  /** Another process has written to the store, or may have. */
  | { readonly type: "written" }
  /** It is the one that runs the controllers and compaction from now on. */
  | { readonly type: "run-loops" }
  | { readonly type: "stop"; readonly graceMilliseconds: number };
