import type { AdmissionRule } from "../machinery/api/attributes.ts";
import { createAuthorization } from "../machinery/authorization/authorizer.ts";
import { accessSpelling, respelledAttributes } from "../machinery/authorization/access-spelling.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { connectAccess, connectRbac } from "../features/access/feature.ts";
import { connectAccounts } from "../features/accounts/feature.ts";
import type { ConnectedAccounts } from "../features/accounts/feature.ts";
import { connectAuthorization } from "../features/authorization/feature.ts";
import { connectCertificates, connectCertificateStatus } from "../features/certificates/feature.ts";
import { ownSignerName } from "../features/certificates/signer-names.ts";
import { findWellKnownSigner, joinsNodes } from "../features/certificates/signers/well-known-signers.ts";
import { revocationPath } from "../features/certificates/status/addresses.ts";
import { connectCore } from "../features/core/feature.ts";
import { connectFederation } from "../features/federation/feature.ts";
import { connectNodes } from "../features/nodes/feature.ts";
import { admissionRules, openAdmission } from "./admission-rules.ts";
import { openAuthorizers } from "./authorizers.ts";
import type { OpenedServer } from "./open-server.ts";
import { markInEtcd } from "./data-directory/moved-store.ts";
import { checkReplicaIdentity } from "./store/replica-identity.ts";
import { pendingQuestions } from "./settings/server-config.ts";
import type { ServerConfig } from "./settings/server-config.ts";

interface ConnectFeaturesOptions {
  readonly opened: OpenedServer;
  /** The stack of everything that must be closed when the server stops. */
  readonly opening: AsyncDisposableStack;
  /** Admission rules after the server's own. */
  readonly admission: readonly AdmissionRule[];
  /** The server's own client. It can be used once requests are answered. */
  readonly client: () => ApiClient;
}

export type ConnectedFeatures = Awaited<ReturnType<typeof connectFeatures>>;

/**
 * The stage "Connect" of a start: gives each feature its stores, and what it needs from other features. Afterwards the stores can be
 * written, through the admission rules.
 */
export async function connectFeatures(
  config: ServerConfig,
  { opened, opening, admission: moreRules, client }: ConnectFeaturesOptions,
) {
  const { names } = config;
  const { shared, usesEtcd, observation, stores, keyStore, authorities, revocation } = opened;
  const { own, signing, configuredAuthorities, configuredSigners } = authorities;

  const { resolver, authorizers, authorize } = await connectAuthorizers(config, { opened, opening });
  const accounts = await connectAccounts({
    ...shared,
    ...keyStore,
    settings: config.accounts,
    stores,
    hasReplicas: usesEtcd,
    observer: observation.outsideKeys,
    client,
  });
  opening.defer(() => accounts.close());
  const { tokens } = accounts;
  const access = connectAccess({
    ...shared,
    settings: config.access,
    stores,
    authorize,
    resolver,
    rulesFor: authorizers.rulesFor,
    allowsEverything: authorizers.allowEverything,
    spellObjectName: ownSignerName,
    configuredAuthorities,
    clientAuthorities: () => [...own.administrator.current().anchors, ...signing.clientAuthorities()],
  });
  const federation = opening.adopt(
    await connectFederation({
      ...shared,
      settings: config.federation,
      apiAudiences: tokens.apiAudiences,
      ownIssuers: tokens.issuers,
      isAnonymousWanted: config.access.isAnonymousWanted,
    }),
    (connected) => connected.close(),
  );
  const core = connectCore({ names, stores, authorize });
  const certificates = connectCertificates({ names, authorize });
  const nodes = connectNodes({
    ...shared,
    stores,
    authorize,
    certifiesNodes: (signerName) => findWellKnownSigner(names, signerName)?.certifies === "node",
    joinsNodes: (signerName) => joinsNodes(names, signerName),
    client,
  });
  const admission = await openAdmission({ ...shared, stores, authorize, observer: observation.policies });
  const features = { core, accounts, access, admission, certificates, nodes, revocation };
  stores.admitThrough([...admissionRules(features), ...moreRules]);
  if (usesEtcd) await agreeWithReplicas(config, { opened, accounts });
  const { revocation: settings } = config.controllers.certificates;
  const status =
    settings &&
    (await connectCertificateStatus({
      ...shared,
      settings,
      stores,
      signing,
      own,
      configuredSigners,
      client,
    }));
  return { ...features, federation, authorizers, authorize, status };
}

/** Connects the authorizers, which the other features use too. */
async function connectAuthorizers(
  config: ServerConfig,
  { opened, opening }: Pick<ConnectFeaturesOptions, "opened" | "opening">,
) {
  const { names } = config;
  const { shared, observation, stores } = opened;
  const spelling = names.other === undefined ? undefined : accessSpelling(names, ownSignerName);
  const { resolver, rbac } = connectRbac(stores, spelling);
  const authorization = opening.adopt(
    await connectAuthorization({
      ...shared,
      settings: config.authorization,
      maximumPending: pendingQuestions(config.limits),
      observer: observation.authorization,
    }),
    (connected) => connected.close(),
  );
  const authorizers = openAuthorizers({
    names,
    stores,
    rbac,
    resolver,
    configured: authorization.authorizers,
    isDiscoveryPublic: config.accounts.isDiscoveryPublic,
    publicBelow: config.controllers.certificates.revocation && revocationPath,
  });
  const authorize = createAuthorization(
    authorizers.current,
    spelling && ((attributes) => respelledAttributes(spelling, attributes)),
  );
  return { resolver, authorizers, authorize };
}

interface ReplicaOptions {
  readonly opened: OpenedServer;
  readonly accounts: ConnectedAccounts;
}

/** Rejects when the other replicas have other keys. Records each later change of the operator's keys for them. */
async function agreeWithReplicas(config: ServerConfig, { opened, accounts }: ReplicaOptions): Promise<void> {
  const { store, authorities, keyStore, shared } = opened;
  const { sealingKey } = keyStore;
  const { tokenKeys } = accounts;
  const check = (): Promise<void> =>
    checkReplicaIdentity(store, { authorities: authorities.own, sealingKey, tokenKeys, settings: config.accounts });
  await check();
  markInEtcd(shared.dataDirectory);
  // Otherwise no replica could start any more once the key of the last start is removed from the files.
  accounts.onOperatorKeys(() => {
    check().catch((error: unknown) =>
      shared.log.error(
        { error: messageOf(error) },
        "could not tell other replicas of the new signing key: restart this one",
      ),
    );
  });
}
