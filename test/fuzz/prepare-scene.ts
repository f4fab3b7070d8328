import { namesFor } from "../../src/machinery/api/names.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { sampleFields } from "../profiles/sample-objects.ts";
import { Administrator } from "./administrator.ts";
import type { ServedKinds } from "./served-kinds.ts";
import type { FuzzTarget } from "./targets/fuzz-target.ts";
import { namespaces } from "./vocabulary.ts";
import type { Vocabulary } from "./vocabulary.ts";

interface SceneObject {
  readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string; readonly continue?: string };
  readonly status?: { readonly token?: string };
}

/**
 * Makes an object of each kind, and what inputs may name: tokens, uids, resourceVersions, continue tokens. It may be called
 * again when inputs have removed them. The lists always have the same length, so that the same random numbers mean the same.
 */
export async function prepareScene(
  target: FuzzTarget,
  { profile, kinds }: { readonly profile: Profile; readonly kinds: ServedKinds },
): Promise<Vocabulary> {
  const administrator = new Administrator(target);
  const names = namesFor(profile);
  const create = (path: string, body: object): Promise<SceneObject> => administrator.json("POST", path, { body });
  for (const name of namespaces) {
    await create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const namespace = namespaces[0];
  for (const { apiVersion, kind, root, plural, isNamespaced } of kinds.stored) {
    const name = kind === "Node" ? "node-1" : "robot";
    const collection = isNamespaced ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
    if (kind !== "Namespace")
      await create(collection, { apiVersion, kind, metadata: { name }, ...sampleFields(names, { kind }) });
  }
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const spec = { containers: [{ name: "main", image: "worker:1" }], serviceAccountName: "robot", nodeName: "node-1" };
  await create(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "bound" }, spec });
  const issue = async (more: object): Promise<string> => {
    const { status } = await create(`${accounts}/robot/token`, {
      apiVersion: `${names.group("authentication")}/v1`,
      kind: "TokenRequest",
      spec: { audiences: [], ...more },
    });
    return status?.token ?? "none.was.issued";
  };
  const pod = await administrator.json<SceneObject>("GET", `${pods}/bound`);
  const account = await administrator.json<SceneObject>("GET", `${accounts}/robot`);
  const page = await administrator.json<SceneObject>("GET", "/api/v1/serviceaccounts?limit=1");
  const roles = `/apis/${names.group("rbac.authorization")}/v1/clusterroles?limit=1`;
  const otherPage = await administrator.json<SceneObject>("GET", roles);
  const now = page.metadata?.resourceVersion ?? "1";
  return {
    adminToken: target.adminToken,
    tokens: [
      await issue({}),
      await issue({ audiences: ["someone-else"] }),
      await issue({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "bound" } }),
    ],
    uids: [pod.metadata?.uid ?? "", account.metadata?.uid ?? "", "00000000-0000-4000-8000-000000000000"],
    resourceVersions: [now, pod.metadata?.resourceVersion ?? "1", "0", "1", "999999999", "-1", "x"],
    continueTokens: [page.metadata?.continue ?? "", otherPage.metadata?.continue ?? "", "////"],
  };
}
