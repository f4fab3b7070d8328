import type { MaybePromise } from "../../machinery/api/maybe-promise.ts";
import { spellingIn } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { Secret } from "../core/index.ts";
import type { ServiceAccount } from "./service-accounts.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { secretResource } from "../core/index.ts";
import { serviceAccountResource } from "./resources.ts";

export interface TokenSecretsOptions {
  /** PEM of the CAs that verify the server now. */
  caCertificates(): string;
  /** Signs a token without expiration for an account, bound to the secret that will contain it. */
  issueToken(account: ServiceAccount, secret: Secret): MaybePromise<string>;
}

/** How often to see whether the server has other CAs. */
const lookMilliseconds = 5_000;
/** A key of the queue that cannot be the name of a secret. */
const everySecret = "";

/**
 * Fills secrets of the type service-account-token with a token, the namespace and the CA. Deletes those whose account
 * is gone or was replaced by another one with the same name (upstream: the tokens controller).
 */
export function serviceAccountTokenSecrets({ caCertificates, issueToken }: TokenSecretsOptions): Controller {
  return {
    name: "serviceaccount-token",
    start(context) {
      const { client, informers, names } = context;
      const secrets = informers.of(secretResource(names));
      const accounts = informers.of(serviceAccountResource(names));
      const tokenType = names.key("service-account-token");
      const isOfType = ({ type = "" }: Secret): boolean => names.ownKey(type) === tokenType;
      const nameKey = (one: Names): string => one.key("service-account.name");
      /** The annotations that name the account, in the spelling in which the secret has them. */
      const keysOf = ({ metadata }: Secret): { readonly name: string; readonly uid: string } => {
        const spelling = spellingIn(names, metadata.annotations, nameKey);
        return { name: nameKey(spelling), uid: spelling.key("service-account.uid") };
      };

      let published = caCertificates();
      const queue = controllerQueue(this.name, context, async (key) => {
        if (key === everySecret) {
          queue.addAfter(everySecret, lookMilliseconds);
          if (published === caCertificates()) return "nothing to do: the server has the same CAs";
          published = caCertificates();
          for (const keys of secretsOf.values()) for (const one of keys) queue.add(one);
          return "the server has other CAs: looks at every secret";
        }
        const secret = secrets.get(key);
        if (secret === undefined || !isOfType(secret) || secret.metadata.deletionTimestamp !== undefined) {
          return "nothing to do: the secret is gone, being deleted, or not of this type";
        }
        const namespace = secret.metadata.namespace ?? "";
        const account = await findAccount(secret, namespace);
        const inNamespace = client.resource(secretResource(names), namespace);
        if (account === undefined) {
          const { uid = "", resourceVersion = "" } = secret.metadata;
          await ignoring([404, 409], inNamespace.delete(secret.metadata.name ?? "", { uid, resourceVersion }));
          return "removed the secret: its account is gone";
        }
        const filled = await fill(secret, account, namespace);
        if (filled === undefined) return "nothing to do: the secret is filled";
        await inNamespace.update(filled);
        return "filled the secret";
      });

      /** Reads the account from the server when it is not in the cache: it may have just been created. */
      async function findAccount(secret: Secret, namespace: string): Promise<ServiceAccount | undefined> {
        const keys = keysOf(secret);
        const { [keys.name]: name = "", [keys.uid]: uid } = secret.metadata.annotations ?? {};
        const account =
          accounts.get(`${namespace}/${name}`) ??
          (await client.resource(serviceAccountResource(names), namespace).find(name));
        return uid === undefined || account?.metadata.uid === uid ? account : undefined;
      }

      async function fill(secret: Secret, account: ServiceAccount, namespace: string): Promise<Secret | undefined> {
        const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");
        const { data = {} } = secret;
        const wanted = {
          "ca.crt": base64(caCertificates()),
          namespace: base64(namespace),
          token: data["token"] ?? base64(await issueToken(account, secret)),
        };
        const isFilled = Object.entries(wanted).every(([key, value]) => data[key] === value);
        const uidKey = keysOf(secret).uid;
        if (isFilled && secret.metadata.annotations?.[uidKey] === account.metadata.uid) return undefined;
        const annotations = { ...secret.metadata.annotations, [uidKey]: account.metadata.uid ?? "" };
        return { ...secret, metadata: { ...secret.metadata, annotations }, data: { ...data, ...wanted } };
      }

      /** The keys of the secrets of this type, by the namespace and name of their account. */
      const secretsOf = new Map<string, Set<string>>();
      const keyOf = ({ metadata }: Secret): string => `${metadata.namespace}/${metadata.name}`;
      const accountOf = (secret: Secret): string =>
        `${secret.metadata.namespace}/${secret.metadata.annotations?.[keysOf(secret).name] ?? ""}`;
      const add = (secret: Secret): void => {
        if (!isOfType(secret)) return;
        const account = accountOf(secret);
        secretsOf.set(account, (secretsOf.get(account) ?? new Set()).add(keyOf(secret)));
        queue.add(keyOf(secret));
      };
      const remove = (secret: Secret): void => {
        const account = accountOf(secret);
        const ofAccount = secretsOf.get(account);
        ofAccount?.delete(keyOf(secret));
        if (ofAccount?.size === 0) secretsOf.delete(account);
      };
      secrets.addHandler({
        onAdd: add,
        onUpdate(secret, previous) {
          remove(previous);
          add(secret);
        },
        onDelete: remove,
      });
      accounts.addHandler({
        onDelete: ({ metadata }) => {
          for (const key of secretsOf.get(`${metadata.namespace}/${metadata.name}`) ?? []) queue.add(key);
        },
      });
      return { queue, onSynced: () => queue.add(everySecret) };
    },
  };
}
