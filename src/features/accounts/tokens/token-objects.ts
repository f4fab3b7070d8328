/** The result of looking up an object that a token names. */
export interface FoundObject {
  readonly uid: string;
  /** RFC 3339. Present once the object is being deleted. */
  readonly deletionTimestamp?: string;
}

export interface FoundPod extends FoundObject {
  readonly serviceAccountName: string;
  /** Absent while the Pod is not scheduled. */
  readonly nodeName?: string;
}

export interface FoundSecret extends FoundObject {
  /** The decoded `token` of a service account token Secret. */
  readonly token?: string;
}

/** Looks up objects in the caches. Results are as fresh as these. */
export interface TokenObjects {
  findServiceAccount(namespace: string, name: string): FoundObject | undefined;
  findPod(namespace: string, name: string): FoundPod | undefined;
  findSecret(namespace: string, name: string): FoundSecret | undefined;
  findNode(name: string): FoundObject | undefined;
}
