import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { objectKey } from "../../../machinery/loops/informer.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { configMapResource, secretResource, textsOf } from "../../core/index.ts";
import type { ConfigMap, Secret } from "../../core/index.ts";
import { bootstrapSecretName, bootstrapTokenEnd, isBootstrapSecret } from "./bootstrap-token-secret.ts";

const clusterInfo = "cluster-info";
const kubeconfigKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";

/**
 * Signs the kubeconfig in the ConfigMap `cluster-info` with every bootstrap token that may sign, and removes all other signatures
 * (upstream: the bootstrapsigner). With the signature, a machine that knows only a token can verify the CA in the kubeconfig, as `kubeadm
 * join` does. Nothing is signed until somebody creates the ConfigMap.
 */
export const bootstrapSigner: Controller = {
  name: "bootstrapsigner",
  start(context) {
    const { client, clock, informers, names } = context;
    const { public: namespace } = names.namespaces;
    const configMaps = informers.of(configMapResource(names));
    const secrets = informers.of(secretResource(names));
    const tokens = new Set<string>();
    let isSynced = false;
    const key = `${namespace}/${clusterInfo}`;
    const queue = controllerQueue(context, {
      reconcile: async () => {
        const current = configMaps.get(key);
        if (current?.data?.[kubeconfigKey] === undefined) return "nothing to do: there is no kubeconfig to sign";
        const signing = [...tokens].flatMap((token) => signingTokenOf(secrets.get(token), clock.now()));
        const data = await signedData(current.data, signing);
        if (isDeepStrictEqual(data, current.data)) return "nothing to do: the signatures are current";
        await client.resource(configMapResource(names), namespace).update({ ...current, data });
        return `signed with ${signing.length} tokens`;
      },
    });
    const sign = (): void => {
      // Before all tokens are known, valid signatures would be removed.
      if (isSynced) queue.add(key);
    };
    const onConfigMap = (configMap: ConfigMap): void => {
      if (objectKey(configMap) === key) sign();
    };
    const onSecret = (secret: Secret): void => {
      if (!isBootstrapSecret(names, secret)) return;
      // The Secret may be deleted before the reconciliation, which then skips it.
      tokens.add(objectKey(secret));
      sign();
    };
    configMaps.addHandler({ onAdd: onConfigMap, onUpdate: onConfigMap });
    secrets.addHandler({
      onAdd: onSecret,
      onUpdate: onSecret,
      onDelete(secret) {
        if (tokens.delete(objectKey(secret))) sign();
      },
    });
    return {
      queue,
      onSynced() {
        isSynced = true;
        sign();
      },
    };
  },
};

interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

/** The token of a Secret, if it may sign now (upstream: `validateSecretForSigning`). Otherwise an empty list. */
function signingTokenOf(secret: Secret | undefined, now: number): SigningToken[] {
  const value = textsOf(secret?.data);
  const token = { id: value("token-id") ?? "", secret: value("token-secret") ?? "" };
  const isNamed = /^[a-z0-9]{6}$/.test(token.id) && secret?.metadata.name === bootstrapSecretName(token.id);
  const end = bootstrapTokenEnd(value("expiration"));
  const isCurrent = end === undefined || now < end;
  const maySign = value("usage-bootstrap-signing") === "true";
  return isNamed && token.secret !== "" && isCurrent && maySign ? [token] : [];
}

/**
 * The data with the signatures of the tokens. Divided into turns of the event loop: a user who may write the ConfigMap can have a megabyte
 * signed with each of thousands of tokens.
 */
async function signedData(
  data: Readonly<Record<string, string>>,
  tokens: readonly SigningToken[],
): Promise<Readonly<Record<string, string>>> {
  const content = Buffer.from(Buffer.from(data[kubeconfigKey] ?? "", "utf8").toString("base64url"), "latin1");
  const members = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  await new LongWork().each(tokens, (token) =>
    members.push([signaturePrefix + token.id, detachedSignature(content, token)]),
  );
  return Object.fromEntries(members);
}

/**
 * Returns a compact JWS without its content (RFC 7515, appendix F). `content` is base64url. Clients compare the text of the JWS, so the
 * header is written as in upstream.
 */
function detachedSignature(content: Buffer, { id, secret }: SigningToken): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: id })).toString("base64url");
  const signature = createHmac("sha256", secret).update(`${header}.`).update(content).digest("base64url");
  return `${header}..${signature}`;
}
