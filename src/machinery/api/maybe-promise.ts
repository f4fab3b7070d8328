/** A value that is at hand, or a promise of it. On the request path what is at hand is not awaited. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value at once when it is at hand, else when its promise is fulfilled. */
export function andThen<T, R>(value: MaybePromise<T>, step: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(step) : step(value);
}
