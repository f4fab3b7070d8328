/** Objects in their order, to be read one after the other: each may be made only when it is read, anew each time. */
export interface SizedIterable<T> extends Iterable<T> {
  readonly length: number;
}
