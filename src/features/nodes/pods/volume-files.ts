import {
  atomicList,
  boolean,
  embeddedIn,
  int32,
  int64,
  mapOf,
  object,
  string,
} from "../../../machinery/schema/schema.ts";
import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { objectFieldSelector, resourceFieldSelector } from "./environment.ts";

const keyToPath = object({
  goType: "v1.KeyToPath",
  description: "A key that becomes a file.",
  fields: {
    key: { number: 1, schema: string, presence: "always", isRequired: true, description: "The key." },
    path: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The file's path within the volume.",
    },
    mode: { number: 3, schema: int32, presence: "pointer", description: "The file's permission bits." },
    user: { number: 4, schema: int64, presence: "pointer", description: "The user id that owns the file." },
  },
});

export const secretVolumeSource = object({
  goType: "v1.SecretVolumeSource",
  description: "The keys of a Secret as files.",
  fields: {
    secretName: { number: 1, schema: string, description: "The Secret in the Pod's namespace." },
    items: { number: 2, schema: atomicList(keyToPath), description: "The keys that become files; all by default." },
    defaultMode: {
      number: 3,
      schema: int32,
      presence: "pointer",
      default: 420,
      description: "The permission bits of files that say nothing else.",
    },
    optional: { number: 4, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
    defaultUser: {
      number: 5,
      schema: int64,
      presence: "pointer",
      description: "The user id that owns files that say nothing else.",
    },
  },
});

export const configMapVolumeSource = object({
  goType: "v1.ConfigMapVolumeSource",
  description: "The keys of a ConfigMap as files.",
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the ConfigMap." } }),
    items: { number: 2, schema: atomicList(keyToPath), description: "The keys that become files; all by default." },
    defaultMode: {
      number: 3,
      schema: int32,
      presence: "pointer",
      default: 420,
      description: "The permission bits of files that say nothing else.",
    },
    optional: { number: 4, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
    defaultUser: {
      number: 5,
      schema: int64,
      presence: "pointer",
      description: "The user id that owns files that say nothing else.",
    },
  },
});

const downwardAPIVolumeFile = object({
  goType: "v1.DownwardAPIVolumeFile",
  description: "A field of the Pod as a file.",
  fields: {
    path: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The file's path within the volume.",
    },
    fieldRef: { number: 2, schema: objectFieldSelector, presence: "pointer", description: "A field of the Pod." },
    resourceFieldRef: {
      number: 3,
      schema: resourceFieldSelector,
      presence: "pointer",
      description: "A resource of a container.",
    },
    mode: { number: 4, schema: int32, presence: "pointer", description: "The file's permission bits." },
    user: { number: 5, schema: int64, presence: "pointer", description: "The user id that owns the file." },
  },
});

export const downwardAPIVolumeSource = object({
  goType: "v1.DownwardAPIVolumeSource",
  description: "Fields of the Pod as files.",
  fields: {
    items: {
      number: 1,
      schema: atomicList(downwardAPIVolumeFile),
      description: "The keys that become files; all by default.",
    },
    defaultMode: {
      number: 2,
      schema: int32,
      presence: "pointer",
      default: 420,
      description: "The permission bits of files that say nothing else.",
    },
    defaultUser: {
      number: 3,
      schema: int64,
      presence: "pointer",
      description: "The user id that owns files that say nothing else.",
    },
  },
});

const secretProjection = object({
  goType: "v1.SecretProjection",
  description: "The keys of a Secret as files.",
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the Secret." } }),
    items: { number: 2, schema: atomicList(keyToPath), description: "The keys that become files; all by default." },
    optional: { number: 4, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const configMapProjection = object({
  goType: "v1.ConfigMapProjection",
  description: "The keys of a ConfigMap as files.",
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the ConfigMap." } }),
    items: { number: 2, schema: atomicList(keyToPath), description: "The keys that become files; all by default." },
    optional: { number: 4, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const downwardAPIProjection = object({
  goType: "v1.DownwardAPIProjection",
  description: "Fields of the Pod as files.",
  fields: {
    items: {
      number: 1,
      schema: atomicList(downwardAPIVolumeFile),
      description: "The keys that become files; all by default.",
    },
  },
});

const serviceAccountTokenProjection = object({
  goType: "v1.ServiceAccountTokenProjection",
  description: "A token of the Pod's service account as a file.",
  fields: {
    audience: { number: 1, schema: string, description: "Whom the token is for; the API server by default." },
    expirationSeconds: {
      number: 2,
      schema: int64,
      presence: "pointer",
      default: 3600,
      description: "Seconds that a token is valid; it is replaced in time.",
    },
    path: {
      number: 3,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The file's path within the volume.",
    },
    user: { number: 4, schema: int64, presence: "pointer", description: "The user id that owns the file." },
  },
});

const clusterTrustBundleProjection = object({
  goType: "v1.ClusterTrustBundleProjection",
  description: "The trust anchors of ClusterTrustBundles as a file.",
  fields: {
    name: { number: 1, schema: string, presence: "pointer", description: "The name of the one bundle." },
    signerName: {
      number: 2,
      schema: string,
      presence: "pointer",
      description: "The signer whose bundles are put together.",
    },
    labelSelector: {
      number: 3,
      schema: labelSelector,
      presence: "pointer",
      description: "Which of the signer's bundles; all by default.",
    },
    optional: { number: 5, schema: boolean, presence: "pointer", description: "Whether there may be none." },
    path: {
      number: 4,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The file's path within the volume.",
    },
    user: { number: 6, schema: int64, presence: "pointer", description: "The user id that owns the file." },
  },
});

const podCertificateProjection = object({
  goType: "v1.PodCertificateProjection",
  description: "A certificate that is requested for the Pod, with its key.",
  fields: {
    signerName: { number: 1, schema: string, description: "The signer that is asked." },
    keyType: { number: 2, schema: string, description: "The kind of the key: ED25519, ECDSAP256, RSA3072, ..." },
    maxExpirationSeconds: {
      number: 3,
      schema: int32,
      presence: "pointer",
      description: "Seconds that the certificate may be valid at most.",
    },
    credentialBundlePath: { number: 4, schema: string, description: "The file for the key and the certificate chain." },
    keyPath: { number: 5, schema: string, description: "The file for the key." },
    certificateChainPath: { number: 6, schema: string, description: "The file for the certificate chain." },
    userAnnotations: { number: 7, schema: mapOf(string), description: "What is passed on to the signer." },
    user: { number: 8, schema: int64, presence: "pointer", description: "The user id that owns the files." },
  },
});

const volumeProjection = object({
  goType: "v1.VolumeProjection",
  description: "One source of a projected volume.",
  fields: {
    secret: {
      number: 1,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: secretProjection,
      presence: "pointer",
      description: "The keys of a Secret.",
    },
    downwardAPI: { number: 2, schema: downwardAPIProjection, presence: "pointer", description: "Fields of the Pod." },
    configMap: {
      number: 3,
      refersTo: { kind: "ConfigMap", nameIn: "name" },
      schema: configMapProjection,
      presence: "pointer",
      description: "The keys of a ConfigMap.",
    },
    serviceAccountToken: {
      number: 4,
      refersTo: { kind: "ServiceAccount" },
      schema: serviceAccountTokenProjection,
      presence: "pointer",
      description: "A token of the Pod's service account.",
    },
    clusterTrustBundle: {
      number: 5,
      refersTo: { kind: "ClusterTrustBundle", nameIn: "name" },
      schema: clusterTrustBundleProjection,
      presence: "pointer",
      description: "The trust anchors of ClusterTrustBundles.",
    },
    podCertificate: {
      number: 6,
      refersTo: { kind: "PodCertificateRequest" },
      schema: podCertificateProjection,
      presence: "pointer",
      description: "A certificate that is requested for the Pod, with its key.",
    },
  },
});

export const projectedVolumeSource = object({
  goType: "v1.ProjectedVolumeSource",
  description: "Several sources in one directory.",
  fields: {
    sources: {
      number: 1,
      schema: atomicList(volumeProjection),
      presence: "always",
      description: "The sources; later ones overwrite files of earlier ones.",
    },
    defaultMode: {
      number: 2,
      schema: int32,
      presence: "pointer",
      default: 420,
      description: "The permission bits of files that say nothing else.",
    },
    defaultUser: {
      number: 3,
      schema: int64,
      presence: "pointer",
      description: "The user id that owns files that say nothing else.",
    },
  },
});
