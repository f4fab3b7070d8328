import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { Container, Pod, Volume } from "./schema/pod-schema.ts";

interface TokenVolumeOptions {
  readonly names: Names;
  generateName(prefix: string): string;
}

/** The lifetime that node agents request. The server may extend it for old clients. */
const expirationSeconds = 3607;

/**
 * The Pod with a volume that contains a token of its account, the cluster's CA and the namespace. The volume is mounted in every container
 * that mounts nothing else at this path (upstream: `mountServiceAccountToken`, `TokenVolumeSource`).
 */
export function withTokenVolume(pod: Pod, { names, generateName }: TokenVolumeOptions): Pod {
  const { namePrefix, mountPath } = names.tokenVolume;
  const [namePrefixes, mountPaths] = [
    spellingsOf(names, ({ tokenVolume: one }) => one.namePrefix),
    spellingsOf(names, ({ tokenVolume: one }) => one.mountPath),
  ];
  const { volumes = [], containers, initContainers } = pod.spec;
  const existing = volumes.find(({ name }) => namePrefixes.some((prefix) => name.startsWith(prefix)))?.name;
  const name = existing ?? generateName(namePrefix);
  let isMounted = false;
  const mounted = (container: Container): Container => {
    const { volumeMounts = [] } = container;
    if (volumeMounts.some((mount) => mountPaths.includes(mount.mountPath ?? ""))) return container;
    isMounted = true;
    return { ...container, volumeMounts: [...volumeMounts, { name, readOnly: true, mountPath }] };
  };
  const spec = {
    ...pod.spec,
    ...(initContainers !== undefined && { initContainers: initContainers.map(mounted) }),
    containers: containers?.map(mounted) ?? null,
  };
  if (!isMounted) return pod;
  return { ...pod, spec: existing === undefined ? { ...spec, volumes: [...volumes, tokenVolume(name, names)] } : spec };
}

const tokenVolume = (name: string, { rootCaConfigMap }: Names): Volume => ({
  name,
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds, path: "token" } },
      { configMap: { name: rootCaConfigMap, items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  },
});
