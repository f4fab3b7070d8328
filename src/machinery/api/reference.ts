/** An object that another one names and gets the content of. */
export interface Reference {
  /** `Secret`, `ConfigMap`, `ServiceAccount`, ... */
  readonly kind: string;
  /** "" where the name is left out, or is made later. */
  readonly name: string;
  /** The field that refers to it: `spec.volumes[0].secret`. */
  readonly path: string;
}
