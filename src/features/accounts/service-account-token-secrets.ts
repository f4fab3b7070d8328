import type { MaybePromise } from "../../machinery/api/maybe-promise.ts";
import { spellingIn } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import type { Secret } from "../core/index.ts";
import type { ServiceAccount } from "./service-accounts.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import type { Controller, ControllerContext, StartedController } from "../../machinery/loops/controller.ts";
import { GroupedKeys } from "../../machinery/loops/grouped-keys.ts";
import { objectKey } from "../../machinery/loops/informer.ts";
import type { FollowedObjects } from "../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../machinery/loops/work-queue.ts";
import { encodedText, secretResource } from "../core/index.ts";
import { authorityQueue } from "./authority-queue.ts";
import { serviceAccountResource } from "./resources.ts";

interface TokenSecretsOptions {
  /** PEM of the CAs that verify the server now. */
  caCertificates(): string;
  /** Signs a token without expiration for an account, bound to the secret that will contain it. */
  issueToken(account: ServiceAccount, secret: Secret): MaybePromise<string>;
}

/**
 * Fills secrets of the type service-account-token with a token, the namespace and the CA. Deletes a secret whose account was deleted, or
 * replaced by a new one of the same name. Removes a deleted secret from its account's list (upstream: the tokens controller).
 */
export const serviceAccountTokenSecrets = (options: TokenSecretsOptions): Controller => ({
  name: "serviceaccount-token",
  start: (context) => new ServiceAccountTokenSecrets(context, options).run(),
});

class ServiceAccountTokenSecrets {
  readonly #options: TokenSecretsOptions;
  readonly #names: Names;
  readonly #client: ApiClient;
  readonly #secrets: FollowedObjects<Secret>;
  readonly #accounts: FollowedObjects<ServiceAccount>;
  readonly #started: StartedController;
  readonly #queue: WorkQueue;
  /** The keys of the secrets of this type, by the namespace and name of their account. */
  readonly #secretsOf = new GroupedKeys();
  /** Deleted secrets that their accounts may still list, by their keys. */
  readonly #deleted = new Map<string, Secret>();

  constructor(context: ControllerContext, options: TokenSecretsOptions) {
    const { client, informers, names } = context;
    this.#options = options;
    this.#names = names;
    this.#client = client;
    this.#secrets = informers.of(secretResource(names));
    this.#accounts = informers.of(serviceAccountResource(names));
    this.#started = authorityQueue(context, {
      caCertificates: () => options.caCertificates(),
      everyKey: () => [...this.#secrets.list()].filter((secret) => this.#isOfType(secret)).map(objectKey),
      reconcile: (key) => this.#reconcile(key),
    });
    this.#queue = this.#started.queue;
  }

  run(): StartedController {
    this.#secrets.addHandler({
      onAdd: (secret) => this.#add(secret),
      onUpdate: (secret, previous) => {
        this.#remove(previous);
        this.#add(secret);
      },
      onDelete: (secret) => {
        this.#remove(secret);
        if (!this.#isOfType(secret)) return;
        this.#deleted.set(objectKey(secret), secret);
        this.#queue.add(objectKey(secret));
      },
    });
    this.#accounts.addHandler({
      onDelete: (account) => {
        for (const key of this.#secretsOf.of(objectKey(account))) this.#queue.add(key);
      },
    });
    return this.#started;
  }

  #add(secret: Secret): void {
    if (!this.#isOfType(secret)) return;
    this.#secretsOf.add(this.#accountOf(secret), objectKey(secret));
    this.#queue.add(objectKey(secret));
  }

  #remove(secret: Secret): void {
    this.#secretsOf.delete(this.#accountOf(secret), objectKey(secret));
  }

  async #reconcile(key: string): Promise<string> {
    const secret = this.#secrets.get(key);
    const deleted = this.#deleted.get(key);
    if (secret === undefined && deleted !== undefined) await this.#takeOutOfAccount(deleted);
    // Another secret of this name may have been deleted meanwhile.
    if (this.#deleted.get(key) === deleted) this.#deleted.delete(key);
    if (secret === undefined || !this.#isOfType(secret) || secret.metadata.deletionTimestamp !== undefined) {
      return "nothing to do: the secret is gone, being deleted, or not of this type";
    }
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = secret.metadata;
    const account = await this.#findAccount(secret);
    const inNamespace = this.#client.resource(secretResource(this.#names), namespace);
    if (account === undefined) {
      await ignoreCodes([404, 409], inNamespace.delete(name, { uid, resourceVersion }));
      return "removed the secret: its account is gone";
    }
    const filled = await this.#withMissingData(secret, account);
    if (filled === undefined) return "nothing to do: the secret is filled";
    if (secret.immutable === true) return "nothing to do: the secret is immutable";
    await inNamespace.update(filled);
    return "filled the secret";
  }

  async #takeOutOfAccount(secret: Secret): Promise<void> {
    const { name, namespace, annotations = {} } = secret.metadata;
    const accounts = this.#client.resource(serviceAccountResource(this.#names), namespace);
    // Not from the cache, which may not have the account's newest list yet.
    const account = await accounts.find(annotations[this.#keysOf(secret).name] ?? "");
    if (account === undefined || !this.#isOf(secret, account)) return;
    const { secrets = [] } = account;
    if (!secrets.some((listed) => listed.name === name)) return;
    const kept = { ...account, secrets: secrets.filter((listed) => listed.name !== name) };
    await ignoreCodes([404], accounts.update(kept));
  }

  /** Finds the account in the cache, or else on the server: it may have just been created. */
  async #findAccount(secret: Secret): Promise<ServiceAccount | undefined> {
    const { namespace = "", annotations = {} } = secret.metadata;
    const { [this.#keysOf(secret).name]: name = "" } = annotations;
    const account =
      this.#accounts.get(`${namespace}/${name}`) ??
      (await this.#client.resource(serviceAccountResource(this.#names), namespace).find(name));
    return account !== undefined && this.#isOf(secret, account) ? account : undefined;
  }

  /** Whether the secret is for this account: a uid that the secret names must be the account's. */
  #isOf(secret: Secret, account: ServiceAccount): boolean {
    const uid = secret.metadata.annotations?.[this.#keysOf(secret).uid] ?? "";
    return uid === "" || account.metadata.uid === uid;
  }

  /** The secret with everything that it should contain. Undefined when nothing is missing. */
  async #withMissingData(secret: Secret, account: ServiceAccount): Promise<Secret | undefined> {
    const { metadata, data = {} } = secret;
    const wanted = {
      "ca.crt": encodedText(this.#options.caCertificates()),
      namespace: encodedText(metadata.namespace ?? ""),
      token: data["token"] || encodedText(await this.#options.issueToken(account, secret)),
    };
    const isFilled = Object.entries(wanted).every(([key, value]) => data[key] === value);
    const uidKey = this.#keysOf(secret).uid;
    if (isFilled && metadata.annotations?.[uidKey] === account.metadata.uid) return undefined;
    const annotations = { ...metadata.annotations, [uidKey]: account.metadata.uid ?? "" };
    return { ...secret, metadata: { ...metadata, annotations }, data: { ...data, ...wanted } };
  }

  #isOfType({ type = "" }: Secret): boolean {
    return this.#names.ownKey(type) === this.#names.key("service-account-token");
  }

  #accountOf(secret: Secret): string {
    return `${secret.metadata.namespace}/${secret.metadata.annotations?.[this.#keysOf(secret).name] ?? ""}`;
  }

  /** The keys of the annotations that name the account, in the secret's own spelling. */
  #keysOf({ metadata }: Secret): { readonly name: string; readonly uid: string } {
    const spelling = spellingIn(this.#names, { map: metadata.annotations, keyIn: nameKey });
    return { name: nameKey(spelling), uid: spelling.key("service-account.uid") };
  }
}

const nameKey = (names: Names): string => names.key("service-account.name");
