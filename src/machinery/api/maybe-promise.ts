/** A value, or a promise of it. The request path awaits only promises: awaiting a value costs a turn of the event loop. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `step` with a value: at once, or when its promise is fulfilled. */
export function andThen<T, R>(value: MaybePromise<T>, step: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(step) : step(value);
}
