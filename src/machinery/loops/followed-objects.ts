import type { ApiObject } from "../api/object-meta.ts";

/** Handles the changes of a resource. Each function is called synchronously, in the order of the changes. */
export interface InformerHandler<T extends ApiObject> {
  /**
   * Names of fields that the handler reads. Objects without any of them, before and after a change, need not be parsed, and
   * `onAdd` and `onUpdate` need not be called for them. Absent: every object counts.
   */
  readonly fields?: readonly string[];
  onAdd?(object: T): void;
  onUpdate?(object: T, previous: T): void;
  onDelete?(object: T): void;
}

/**
 * A copy of the objects of a resource that is at most a moment old. All readers share the objects and must not change
 * them. The objects have no managedFields: no controller reads them, and an update without them leaves them
 * unchanged.
 */
export interface FollowedObjects<T extends ApiObject> {
  /** Throws an ApiError for an object that cannot be read. */
  get(key: string): T | undefined;
  /**
   * All objects, in no particular order. Reading an object may take its parsing. Throws an ApiError when one of them cannot be
   * read.
   */
  list(): IterableIterator<T>;
  /** Adds a handler. It first receives an event for each existing object. */
  addHandler(handler: InformerHandler<T>): void;
  /** Starts following until `signal` aborts. Call it once. Resolves when handlers have heard of every existing object. */
  start(signal: AbortSignal): Promise<void>;
}
