/** What a look-up tells of an object that tokens name. */
export interface FoundObject {
  readonly uid: string;
  /** RFC 3339; there once the object is being deleted. */
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

/** Looks objects up in memory. Answers are as fresh as the watch caches. */
export interface TokenObjects {
  findServiceAccount(namespace: string, name: string): FoundObject | undefined;
  findPod(namespace: string, name: string): FoundPod | undefined;
  findSecret(namespace: string, name: string): FoundSecret | undefined;
  findNode(name: string): FoundObject | undefined;
}
