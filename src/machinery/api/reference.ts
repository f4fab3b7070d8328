/** A reference from one object to another. A client that may read the first object gets the content of the second. */
export interface Reference {
  /** `Secret`, `ConfigMap`, `ServiceAccount`, ... */
  readonly kind: string;
  /** Empty when the name is left out or will be generated later. */
  readonly name: string;
  /** The field that contains the reference, such as `spec.volumes[0].secret`. */
  readonly path: string;
}
