import type { ApiObject } from "../api/object-meta.ts";

interface SecretName {
  readonly name?: string;
}

interface PodContainer {
  readonly name: string;
  readonly env?: readonly {
    readonly name?: string;
    readonly valueFrom?: { readonly secretKeyRef?: SecretName; readonly configMapKeyRef?: SecretName };
  }[];
  readonly envFrom?: readonly { readonly secretRef?: SecretName; readonly configMapRef?: SecretName }[];
}

interface PodVolume {
  readonly name?: string;
  readonly secret?: { readonly secretName?: string };
  readonly projected?: {
    readonly sources?: readonly { readonly serviceAccountToken?: { readonly audience?: string } }[];
  };
}

/** What admission reads of a Pod. Of the open parts everything may be missing. */
export interface PodObject extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly serviceAccount?: string;
    readonly containers: readonly PodContainer[] | null;
    readonly initContainers?: readonly PodContainer[];
    readonly volumes?: readonly PodVolume[];
    readonly imagePullSecrets?: readonly SecretName[];
    readonly resourceClaims?: readonly unknown[];
  };
}

// The registry decodes what is written to a resource with that resource's schema, so that the path tells the type.
export const asPod = (object: ApiObject): PodObject => object as PodObject;

/** A secret that a Pod reads, and where, as refusals describe it. */
export interface SecretUse {
  readonly secretName: string;
  readonly description: string;
}

/** Every secret that a Pod mounts or reads into its environment; the secrets for pulling images are not among them. */
export function secretsOf({ spec }: PodObject): SecretUse[] {
  const uses = listOf(spec.volumes).flatMap(({ secret }) =>
    secret === undefined ? [] : [{ secretName: secret.secretName ?? "", description: "volume with" }],
  );
  for (const [kind, containers] of [
    ["init container", spec.initContainers],
    ["container", spec.containers],
  ] as const) {
    for (const container of listOf(containers)) uses.push(...environmentSecrets(kind, container));
  }
  return uses;
}

function environmentSecrets(kind: string, { name, env, envFrom }: PodContainer): SecretUse[] {
  return [
    ...listOf(env).flatMap(({ name: variable = "", valueFrom }) =>
      valueFrom?.secretKeyRef === undefined
        ? []
        : [
            {
              secretName: valueFrom.secretKeyRef.name ?? "",
              description: `${kind} ${name} with envVar ${variable} referencing`,
            },
          ],
    ),
    ...listOf(envFrom).flatMap(({ secretRef }) =>
      secretRef === undefined
        ? []
        : [{ secretName: secretRef.name ?? "", description: `${kind} ${name} with envFrom referencing` }],
    ),
  ];
}

/** Open parts are whatever the client sent: anything but a list counts as an empty one, and so does what is no object. */
export const listOf = <T>(value: readonly T[] | null | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
