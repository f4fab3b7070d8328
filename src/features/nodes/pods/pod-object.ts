import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

export interface PodContainer {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

export interface PodVolume {
  readonly name: string;
  readonly projected?: {
    readonly defaultMode?: number;
    readonly sources: readonly ProjectedSource[] | null;
  };
}

export interface ProjectedSource {
  readonly serviceAccountToken?: {
    readonly audience?: string;
    readonly expirationSeconds?: number;
    readonly path: string;
  };
  readonly configMap?: object;
  readonly downwardAPI?: object;
}

/** What admission reads of a Pod in addition to its references. */
export interface PodObject extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    /** The old name of the field; always the same. */
    readonly serviceAccount?: string;
    readonly automountServiceAccountToken?: boolean;
    readonly containers: readonly PodContainer[] | null;
    readonly initContainers?: readonly PodContainer[];
    readonly ephemeralContainers?: readonly PodContainer[];
    readonly volumes?: readonly PodVolume[];
    readonly imagePullSecrets?: readonly { readonly name?: string }[];
  };
  readonly status?: { readonly resourceClaimStatuses?: unknown; readonly extendedResourceClaimStatus?: unknown };
}

// The registry decodes what is written to a resource with that resource's schema, so that the path tells the type.
export const asPod = (object: ApiObject): PodObject => object as PodObject;

/** Whether a Pod is the mirror of a static Pod of its node. */
export const isMirrorPod = ({ metadata }: ApiObject, names: Names): boolean =>
  mirrorAnnotations(names).some((key) => Object.hasOwn(metadata.annotations ?? {}, key));

/** What marks such a Pod, in each spelling. */
export const mirrorAnnotations = (names: Names): readonly string[] =>
  spellingsOf(names, (one) => one.key("config.mirror"));
