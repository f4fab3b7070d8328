import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../machinery/logging/log.ts";
import type { AdmissionRule } from "../../machinery/api/attributes.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import type { FollowedKeyRecords } from "../../machinery/keys/key-records.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import type { SealingKey } from "../../machinery/keys/sealing-key.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { PathRoutes } from "../../machinery/http/routes/path-routes.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { generateName } from "../../machinery/registry/writes/requested-name.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { defaultServiceAccount } from "./default-service-account.ts";
import { openTokenKeys } from "./keys/open-token-keys.ts";
import { openOperatorKeys } from "./keys/open-operator-keys.ts";
import type { OpenedOperatorKeys } from "./keys/operator-keys.ts";
import type { TokenKeys } from "./keys/token-keys.ts";
import { openIdRoutes } from "./tokens/discovery-documents.ts";
import { serviceAccountResource } from "./resources.ts";
import { rootCaPublisher } from "./root-ca-publisher.ts";
import { serviceAccountRule } from "./service-account-admission.ts";
import { serviceAccountTokenSecrets } from "./service-account-token-secrets.ts";
import { serviceAccounts } from "./service-accounts.ts";
import type { AccountSettings } from "./settings.ts";
import { SecretTokenUses } from "./tokens/secret-token-uses.ts";
import { tokenObjects } from "./tokens/token-objects.ts";
import { answerTokenRequest } from "./token-request.ts";
import { tokenReviews } from "./token-reviews.ts";
import { openTokenServices } from "./token-services.ts";
import type { TokenServices } from "./token-services.ts";

/** Service accounts, and the issuing, verification, review and publication of their tokens. */
export const accountKinds = [kind(serviceAccounts)] as const;

interface AccountsConnection {
  readonly settings: AccountSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly store: Store;
  readonly stores: Stores;
  readonly records: FollowedKeyRecords;
  readonly sealingKey: SealingKey;
  /** Receives each use of a key outside the process. */
  readonly observer: OutsideKeyObserver | undefined;
  /** Whether other replicas, with data directories of their own, use the store too. */
  readonly hasReplicas: boolean;
  /** A client that may do everything. Called only while a request is answered. */
  readonly client: () => ApiClient;
}

export interface ConnectedAccounts {
  readonly admission: Readonly<Record<"serviceAccount", AdmissionRule>>;
  readonly tokens: TokenServices;
  readonly tokenKeys: TokenKeys;
  /** Calls `listener` after each change of the keys in the operator's files, or of an external signer. */
  onOperatorKeys(listener: () => void): void;
  tokenReviews(reviewToken: ReviewToken): ReviewDefinition;
  /** The issuer's documents. `url` is called for each request. */
  pathRoutes(url: () => string): PathRoutes;
  /** Stops recording the last use of tokens, and closes the connection to the external signer or the PKCS #11 token, if there is one. */
  close(): Promise<void>;
}

/**
 * Opens the token keys and connects what uses them. Rejects with UsageError for a key file that cannot be used, and with UnusableFile for a
 * missing key.
 */
export async function connectAccounts(connection: AccountsConnection): Promise<ConnectedAccounts> {
  const operator = await openOperatorKeys(connection.settings, connection);
  try {
    return await connectTokens(connection, operator);
  } catch (error) {
    operator.close();
    throw error;
  }
}

async function connectTokens(connection: AccountsConnection, operator: OpenedOperatorKeys): Promise<ConnectedAccounts> {
  const { settings, names, clock, stores } = connection;
  const maximumExpirationSeconds = maximumLifetime(settings, operator);
  const { dataDirectory } = settings;
  const keys = await openTokenKeys({ ...connection, dataDirectory, operatorKeys: operator.keys });
  const objects = tokenObjects(stores);
  const uses = new SecretTokenUses(connection);
  const tokens = openTokenServices({
    settings,
    names,
    clock,
    objects,
    keys,
    onSecretTokenUse: (used) => uses.note(used),
  });
  stores.of(serviceAccountResource).answerSubresource(
    "token",
    answerTokenRequest({
      ...objects,
      apiAudiences: tokens.apiAudiences,
      issueToken: tokens.issueToken,
      isExpirationExtended: settings.isTokenExpirationExtended,
      maximumExpirationSeconds,
      maximumExtendedSeconds: operator.maximumTokenExpirationSeconds,
    }),
  );
  return {
    admission: {
      serviceAccount: serviceAccountRule({
        names,
        generateName,
        findServiceAccount: (namespace, name) => stores.findCurrent(serviceAccountResource, { namespace, name }),
        pause: delay,
      }),
    },
    tokens,
    tokenKeys: keys,
    onOperatorKeys: (listener) => operator.keys.onChange(listener),
    tokenReviews: (reviewToken) => tokenReviews(names, { reviewToken }),
    pathRoutes: (url) => openIdRoutes(() => tokens.discovery(settings.keysUrl ?? `${url()}/openid/v1/jwks`)),
    async close() {
      await uses.stop();
      operator.close();
    },
  };
}

/** The longest lifetime of requested tokens, in seconds. Throws UsageError for a setting that promises more than the signer signs. */
function maximumLifetime(
  { maximumTokenExpirationSeconds: configured }: AccountSettings,
  { maximumTokenExpirationSeconds: ofSigner }: OpenedOperatorKeys,
): number | undefined {
  if (configured === undefined || ofSigner === undefined || configured <= ofSigner) return configured ?? ofSigner;
  throw new UsageError(
    `--service-account-max-token-expiration: ${configured} s is longer than the ${ofSigner} s that the signer of ` +
      "--service-account-signing-endpoint signs: leave it out, or set no more than that",
  );
}

export interface AccountControllersOptions {
  /** PEM of the CAs that verify the server. Empty when the system's roots verify it: then nothing is published. */
  readonly caCertificates: () => string;
  /** Absent when this process has no token signing key: then token Secrets are not filled. */
  readonly issueSecretToken?: TokenServices["issueSecretToken"] | undefined;
}

export function accountControllers({ caCertificates, issueSecretToken }: AccountControllersOptions): Controller[] {
  return [
    defaultServiceAccount,
    ...(caCertificates() === "" ? [] : [rootCaPublisher({ caCertificates })]),
    ...(issueSecretToken === undefined ? [] : [tokenSecrets(caCertificates, issueSecretToken)]),
  ];
}

const tokenSecrets = (
  caCertificates: () => string,
  issueSecretToken: NonNullable<TokenServices["issueSecretToken"]>,
): Controller =>
  serviceAccountTokenSecrets({
    caCertificates,
    issueToken: (account, secret) =>
      issueSecretToken({
        namespace: account.metadata.namespace ?? "",
        secretName: secret.metadata.name ?? "",
        serviceAccountName: account.metadata.name ?? "",
        serviceAccountUid: account.metadata.uid ?? "",
      }),
  });
