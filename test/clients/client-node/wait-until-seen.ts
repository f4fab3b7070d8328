import { Watch } from "@kubernetes/client-node";
import type { KubeConfig, KubernetesObject } from "@kubernetes/client-node";

/** Watches one object until it is as wanted, and resolves to it. */
export async function waitUntilSeen<T extends KubernetesObject>(
  config: KubeConfig,
  { path, name }: { readonly path: string; readonly name: string },
  isWanted: (object: T) => boolean,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const watch = await new Watch(config).watch(
    path,
    { fieldSelector: `metadata.name=${name}` },
    // The client hands on what the server sent, without a type.
    (_type, object: T) => {
      if (isWanted(object)) resolve(object);
    },
    (error) => reject(error instanceof Error ? error : new Error("the watch ended")),
  );
  return promise.finally(() => watch.abort());
}
