import { atomicList, boolean, embeddedIn, int32, int64, mapOf, string } from "../../../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, refersTo, required, struct } from "../../../../machinery/schema/struct.ts";
import { labelSelector } from "../../../../machinery/schema/label-selector-schema.ts";
import { objectFieldSelector, resourceFieldSelector } from "./environment.ts";

const keyToPath = struct("v1.KeyToPath", "A key that becomes a file.", {
  key: required(1, string, "The key."),
  path: required(2, string, "The file's path within the volume."),
  mode: pointer(3, int32, "The file's permission bits."),
  user: pointer(4, int64, "The user id that owns the file."),
});

export const secretVolumeSource = struct("v1.SecretVolumeSource", "The keys of a Secret as files.", {
  secretName: omitEmpty(1, string, "The Secret in the Pod's namespace."),
  items: omitEmpty(2, atomicList(keyToPath), "The keys that become files; all by default."),
  defaultMode: pointer(3, int32, "The permission bits of files that say nothing else.", { default: 420 }),
  optional: pointer(4, boolean, "Whether it may be missing."),
  defaultUser: pointer(5, int64, "The user id that owns files that say nothing else."),
});

export const configMapVolumeSource = struct("v1.ConfigMapVolumeSource", "The keys of a ConfigMap as files.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the ConfigMap.") }),
  items: omitEmpty(2, atomicList(keyToPath), "The keys that become files; all by default."),
  defaultMode: pointer(3, int32, "The permission bits of files that say nothing else.", { default: 420 }),
  optional: pointer(4, boolean, "Whether it may be missing."),
  defaultUser: pointer(5, int64, "The user id that owns files that say nothing else."),
});

const downwardAPIVolumeFile = struct("v1.DownwardAPIVolumeFile", "A field of the Pod as a file.", {
  path: required(1, string, "The file's path within the volume."),
  fieldRef: pointer(2, objectFieldSelector, "A field of the Pod."),
  resourceFieldRef: pointer(3, resourceFieldSelector, "A resource of a container."),
  mode: pointer(4, int32, "The file's permission bits."),
  user: pointer(5, int64, "The user id that owns the file."),
});

export const downwardAPIVolumeSource = struct("v1.DownwardAPIVolumeSource", "Fields of the Pod as files.", {
  items: omitEmpty(1, atomicList(downwardAPIVolumeFile), "The keys that become files; all by default."),
  defaultMode: pointer(2, int32, "The permission bits of files that say nothing else.", { default: 420 }),
  defaultUser: pointer(3, int64, "The user id that owns files that say nothing else."),
});

const secretProjection = struct("v1.SecretProjection", "The keys of a Secret as files.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the Secret.") }),
  items: omitEmpty(2, atomicList(keyToPath), "The keys that become files; all by default."),
  optional: pointer(4, boolean, "Whether it may be missing."),
});

const configMapProjection = struct("v1.ConfigMapProjection", "The keys of a ConfigMap as files.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the ConfigMap.") }),
  items: omitEmpty(2, atomicList(keyToPath), "The keys that become files; all by default."),
  optional: pointer(4, boolean, "Whether it may be missing."),
});

const downwardAPIProjection = struct("v1.DownwardAPIProjection", "Fields of the Pod as files.", {
  items: omitEmpty(1, atomicList(downwardAPIVolumeFile), "The keys that become files; all by default."),
});

const serviceAccountTokenProjection = struct(
  "v1.ServiceAccountTokenProjection",
  "A token of the Pod's service account as a file.",
  {
    audience: omitEmpty(1, string, "Whom the token is for; the API server by default."),
    expirationSeconds: pointer(2, int64, "Seconds that a token is valid; it is replaced in time.", { default: 3600 }),
    path: required(3, string, "The file's path within the volume."),
    user: pointer(4, int64, "The user id that owns the file."),
  },
);

const clusterTrustBundleProjection = struct(
  "v1.ClusterTrustBundleProjection",
  "The trust anchors of ClusterTrustBundles as a file.",
  {
    name: pointer(1, string, "The name of the one bundle."),
    signerName: pointer(2, string, "The signer whose bundles are put together."),
    labelSelector: pointer(3, labelSelector, "Which of the signer's bundles; all by default."),
    optional: pointer(5, boolean, "Whether there may be none."),
    path: required(4, string, "The file's path within the volume."),
    user: pointer(6, int64, "The user id that owns the file."),
  },
);

const podCertificateProjection = struct(
  "v1.PodCertificateProjection",
  "A certificate that is requested for the Pod, with its key.",
  {
    signerName: omitEmpty(1, string, "The signer that is asked.", { isRequired: true }),
    keyType: omitEmpty(2, string, "The kind of the key: ED25519, ECDSAP256, RSA3072, ...", { isRequired: true }),
    maxExpirationSeconds: pointer(3, int32, "Seconds that the certificate may be valid at most."),
    credentialBundlePath: omitEmpty(4, string, "The file for the key and the certificate chain."),
    keyPath: omitEmpty(5, string, "The file for the key."),
    certificateChainPath: omitEmpty(6, string, "The file for the certificate chain."),
    userAnnotations: omitEmpty(7, mapOf(string), "What is passed on to the signer."),
    user: pointer(8, int64, "The user id that owns the files."),
  },
);

const volumeProjection = struct("v1.VolumeProjection", "One source of a projected volume.", {
  secret: pointer(1, secretProjection, "The keys of a Secret.", refersTo("Secret", "name")),
  downwardAPI: pointer(2, downwardAPIProjection, "Fields of the Pod."),
  configMap: pointer(3, configMapProjection, "The keys of a ConfigMap.", refersTo("ConfigMap", "name")),
  serviceAccountToken: pointer(
    4,
    serviceAccountTokenProjection,
    "A token of the Pod's service account.",
    refersTo("ServiceAccount"),
  ),
  clusterTrustBundle: pointer(
    5,
    clusterTrustBundleProjection,
    "The trust anchors of ClusterTrustBundles.",
    refersTo("ClusterTrustBundle", "name"),
  ),
  podCertificate: pointer(
    6,
    podCertificateProjection,
    "A certificate that is requested for the Pod, with its key.",
    refersTo("PodCertificateRequest"),
  ),
});

export const projectedVolumeSource = struct("v1.ProjectedVolumeSource", "Several sources in one directory.", {
  sources: always(1, atomicList(volumeProjection), "The sources; later ones overwrite files of earlier ones."),
  defaultMode: pointer(2, int32, "The permission bits of files that say nothing else.", { default: 420 }),
  defaultUser: pointer(3, int64, "The user id that owns files that say nothing else."),
});
