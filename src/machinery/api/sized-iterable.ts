/** Objects in order. Each may be made only when it is read, and made again at each iteration. */
export interface SizedIterable<T> extends Iterable<T> {
  readonly length: number;
}
