import type { Logger } from "pino";
import type { AdmissionRule } from "../machinery/api/attributes.ts";
import { systemClock } from "../machinery/api/clock.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Handler } from "../machinery/api/http-message.ts";
import { anonymousUsername } from "../machinery/api/user-info.ts";
import { bearerTokenWarnings } from "../machinery/authentication/bearer-token.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { inProcessTransport } from "../machinery/client/in-process-transport.ts";
import { FollowedFiles, followMilliseconds } from "../machinery/files/followed-files.ts";
import type { OwnedFolder } from "../machinery/files/owned-folder.ts";
import { createApiServer } from "../machinery/http/api-server.ts";
import { OpenStreams } from "../machinery/http/open-streams.ts";
import { createListener } from "../machinery/http/listener.ts";
import { createResourceHandler } from "../machinery/http/resources/resource-handler.ts";
import { ChangeFeed } from "../machinery/storage/change-feed.ts";
import type { Store } from "../machinery/storage/store.ts";
import { revocationPath } from "../features/certificates/status/addresses.ts";
import { openAdministrator, revokedIn } from "./administrator.ts";
import { openApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import { openCertificateAuthorities } from "./certificate-authorities.ts";
import { openAuthentication, authenticateOnFreshCache } from "./authentication.ts";
import { controllersUser, serverUser } from "./loopback-users.ts";
import { FollowedKeyRecords } from "../machinery/keys/key-records.ts";
import { SealingKey } from "../machinery/keys/sealing-key.ts";
import { noticeOtherPrograms, startServerLoops } from "./server-loops.ts";
import { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { checkReplicaIdentity } from "./replica-identity.ts";
import { openServerStore } from "./encryption/open-encryption.ts";
import { observeServer } from "./observation/observe-server.ts";
import { dataDirectoryFiles } from "./backup/data-directory-files.ts";
import { lockDataDirectory, storeDirectory } from "./lock-data-directory.ts";
import { storeBytes } from "../machinery/storage/backends/lmdb-environment.ts";
import { storeChecks, shutdownCheck } from "./health-checks.ts";
import { openApiSource } from "../machinery/http/openapi-routes.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { configuredSignerGrants, wellKnownSignerGrants } from "./signer-grants.ts";
import { connectionLimit, openFileLimit } from "./open-file-limit.ts";
import { openTlsCertificate } from "./tls/tls-certificate.ts";
import { signetVersion } from "./signet-version.ts";
import { accessSpelling, respelledAttributes } from "../machinery/authorization/own-spelling.ts";
import { ownSignerName } from "../features/certificates/signer-names.ts";
import { findWellKnownSigner } from "../features/certificates/signers/well-known-signers.ts";
import { servedReviews, discovered, storedResources, reviewDefinitions } from "./served-kinds.ts";
import { servedDefinitions } from "../machinery/registry/resource-definition.ts";
import { Stores } from "../machinery/registry/stores.ts";
import { admissionRules, openAdmission } from "./admission-rules.ts";
import { openAuthorizers } from "./authorizers.ts";
import { connectAuthorization } from "../features/authorization/feature.ts";
import { connectAccess, connectRbac } from "../features/access/feature.ts";
import { connectAccounts } from "../features/accounts/feature.ts";
import { connectCertificates, connectCertificateStatus } from "../features/certificates/feature.ts";
import { connectCore } from "../features/core/feature.ts";
import { connectFederation } from "../features/federation/feature.ts";
import { connectNodes } from "../features/nodes/feature.ts";
import { connectRevocation } from "../features/revocation/feature.ts";
import { createAuthorization } from "../machinery/authorization/authorizer.ts";
import { pendingQuestions } from "./server-config.ts";
import type { ServerConfig } from "./server-config.ts";
import { retryOnConflict } from "../machinery/client/retry-on-conflict.ts";

export interface StartOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  /** Additional admission rules, evaluated after the server's own. */
  readonly admission?: readonly AdmissionRule[];
  /** Replaces the data directory's store. The server closes it. */
  readonly store?: Store;
  /** The data directory of the process that started this one. Default: this process locks it. */
  readonly folder?: OwnedFolder;
  /**
   * When controllers and compaction start: at once (default), or when `startLoops` is called, for one of several
   * processes.
   */
  readonly loops?: "at once" | "when told";
  /** Whether other processes write to the store too. Then requests wait until the cache contains those writes. */
  readonly isStoreShared?: boolean;
  /** Whether other processes of this server listen on the same port. */
  readonly isPortShared?: boolean;
  /** The metrics of those processes. */
  readonly otherMetrics?: () => Promise<readonly string[]>;
  /** The descriptor of a listening socket that replaces the address and port of the settings. */
  readonly passedSocket?: number;
}

export interface RunningServer {
  readonly version: string;
  readonly url: string;
  readonly port: number;
  readonly kubeconfigFile: string;
  /** Where revocation is served over plain HTTP. Undefined: nowhere. */
  readonly revocationHttpUrl: string | undefined;
  /** PEM of the CAs that verify the serving certificate. */
  readonly caCertificates: string;
  /** Answers requests in this process, through the same chain. */
  readonly handler: Handler;
  /** A client in this process with all permissions. */
  readonly client: ApiClient;
  readonly store: Store;
  /** The metrics of this process alone, in Prometheus' text format. */
  metricsText(): Promise<string>;
  /** Reads the files that settings name again, where they have changed. Without a call that happens every second. */
  readFilesAgain(): void;
  /** Starts compaction and the enabled controllers. Call it once. */
  startLoops(): void;
  /** Stops requests, watches, controllers and the store, in this order. */
  stop(options?: { readonly graceMilliseconds: number }): Promise<void>;
}

/**
 * Assembles a server and starts it, in the order that docs/architecture.md explains. Everything is closed in reverse order when
 * the server stops or cannot start. Throws UsageError for invalid settings.
 */
export async function startServer(config: ServerConfig, given: StartOptions): Promise<RunningServer> {
  const { dataDirectory, names } = config;
  const usesEtcd = config.storage.type === "etcd";
  const { log, clock = systemClock, loops = "at once", isStoreShared = usesEtcd, isPortShared = false } = given;
  const { certificates: certificateSettings } = config.controllers;

  await using opening = new AsyncDisposableStack();
  let graceMilliseconds = 0;
  const folder = opening.adopt(given.folder ?? lockDataDirectory(dataDirectory), (owned) => owned.release());
  const keysBefore = dataDirectoryFiles(dataDirectory).keys;
  const followed = opening.use(new FollowedFiles({ log, lookMilliseconds: followMilliseconds }));
  const shared = { names, dataDirectory, clock, log, followed };
  const { store, healthChecks } = opening.adopt(
    await openServerStore(config, { log, followed, given: given.store }),
    (opened) => opened.close(),
  );
  const feed = opening.adopt(new ChangeFeed({ store }), (opened) => opened.close());
  const observation = observeServer({ names, log, clock, configuredSigners: () => configuredSigners() });
  const stores = new Stores({
    names,
    definitions: storedResources(names),
    store,
    feed,
    clock,
    maximumObjectBytes: config.limits.maximumObjectBytes,
    onWritten: observation.onWritten,
    onRefused: observation.onRefused,
  });
  const records = new FollowedKeyRecords(feed);
  // In one turn, so that they share the reading: then a copy that is fresh has the newest keys too.
  await Promise.all([stores.start(), records.start()]);
  if (!usesEtcd) opening.adopt(noticeOtherPrograms(store), (looks) => looks.stop());

  const sealingKey = SealingKey.open(dataDirectory);
  const keyStore = { store, records, sealingKey };
  const authorities = await openCertificateAuthorities(config, {
    ...shared,
    ...keyStore,
    observer: observation.outsideKeys,
  });
  const { own, signing, configuredAuthorities, configuredSigners } = authorities;
  const policy = openApprovalPolicy(certificateSettings.approvalPolicyFile, followed);
  const revocation = connectRevocation(stores);
  const certificate = opening.adopt(
    await openTlsCertificate(config.listener, {
      ...shared,
      authority: own.server,
      isRevoked: revokedIn(revocation),
      revocation: certificateSettings.revocation,
    }),
    (opened) => opened.stop(),
  );

  const spelling = names.other === undefined ? undefined : accessSpelling(names, ownSignerName);
  const { resolver, rbac } = connectRbac(stores, spelling);
  const authorization = opening.adopt(
    await connectAuthorization({
      ...shared,
      settings: config.authorization,
      maximumPending: pendingQuestions(config.limits),
      observer: observation.authorization,
    }),
    (opened) => opened.close(),
  );
  const authorizers = openAuthorizers({
    names,
    stores,
    rbac,
    rulesFor: (user, namespace) => resolver.rulesFor(user, namespace),
    configured: authorization.authorizers,
    isDiscoveryPublic: config.accounts.isDiscoveryPublic,
    publicBelow: certificateSettings.revocation && revocationPath,
  });
  const authorize = createAuthorization(
    authorizers.current,
    spelling && ((attributes) => respelledAttributes(spelling, attributes)),
  );
  const accounts = await connectAccounts({
    ...shared,
    ...keyStore,
    settings: config.accounts,
    stores,
    areThereReplicas: usesEtcd,
    observer: observation.outsideKeys,
  });
  opening.defer(() => accounts.close());
  const { tokenKeys, tokens } = accounts;
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
    (opened) => opened.close(),
  );
  const core = connectCore({ names, stores, authorize });
  const certificates = connectCertificates({ names, authorize });
  const nodes = connectNodes({
    ...shared,
    stores,
    authorize,
    apiAudiences: tokens.apiAudiences,
    certifiesNodes: (signerName) => findWellKnownSigner(names, signerName)?.certifies === "node",
    client: () => client,
  });
  const admission = await openAdmission({ names, stores, authorize, log, observer: observation.policies });
  const connected = { core, accounts, access, admission, certificates, nodes, revocation };
  stores.admitThrough([...admissionRules(connected), ...(given.admission ?? [])]);
  if (usesEtcd)
    await checkReplicaIdentity(store, { authorities: own, sealingKey, tokenKeys, settings: config.accounts });

  const status =
    certificateSettings.revocation &&
    (await connectCertificateStatus({
      ...shared,
      settings: certificateSettings.revocation,
      stores,
      signing,
      own,
      configuredSigners,
      client: () => client,
    }));

  const loopback = new LoopbackTokens();
  const authentication = openAuthentication({
    log,
    ...connected,
    federation,
    loopback,
    onOutcome: observation.onAuthenticated,
  });
  const reviewToken = observation.counted(authentication.reviewToken);
  const reviews = servedReviews(names, reviewDefinitions(access.reviews, accounts.tokenReviews(reviewToken)));
  const resources = stores.definitions.flatMap((definition) => servedDefinitions(definition));
  const audit = opening.adopt(
    config.audit &&
      (await import("./audit/open-audit.ts")).openAudit(config.audit, {
        ...shared,
        resources,
        reviews,
      }),
    (opened) => opened?.close(),
  );
  const health = { isStopping: false };
  let openStreams = (): number => 0;
  const streams = new OpenStreams((user) => authentication.refusalOf(user) !== undefined);
  nodes.onLocked(() => streams.endRefused());
  revocation.onRevoked(() => {
    streams.endRefused();
    certificate.renewRevoked();
  });
  let url = "";
  const { authenticate } = authentication;
  const { handler, metrics } = createApiServer({
    definitions: discovered(names, [...resources, ...reviews]),
    authenticate: isStoreShared
      ? authenticateOnFreshCache(authenticate, (request) => stores.waitForFreshCache(request))
      : authenticate,
    impersonate: (request, user) => access.impersonate(request.headers, user),
    authorize,
    withoutIdentity: authentication.withoutIdentity,
    identityWarnings: (request, user) =>
      user.username === anonymousUsername ? bearerTokenWarnings(request.headers) : [],
    handleResource: createResourceHandler({
      registries: stores.registries,
      reviews,
      admission: stores.admission,
      authorize,
      clock,
    }),
    openApi: openApiSource({ names, version: signetVersion, resources, reviews }),
    pathRoutes: new Map([...accounts.pathRoutes(() => url), ...(status?.routes ?? [])]),
    healthChecks: [...storeChecks(store, stores), ...healthChecks, shutdownCheck(health)],
    log,
    audit,
    signetVersion,
    serverAddress: () => url.replace("https://", ""),
    openStreams: () => openStreams(),
    onStreamStarted: (user, end) => streams.add(user, end),
    maximumReads: config.limits.maximumReads,
    maximumWrites: config.limits.maximumWrites,
    otherMetrics: given.otherMetrics,
    onAnswered: observation.onAnswered,
  });
  observation.addMetrics({
    registry: metrics.registry,
    stores,
    store,
    decisions: authorizers.counts,
    storedBytes: () => (usesEtcd ? store.sizeBytes?.() : storeBytes(storeDirectory(dataDirectory))),
    unusableFiles: () => followed.unusable(),
    authorities: () => ({
      server: own.server.current().certificate,
      serving: certificate.current().cert,
      signing: signing.authorityFor,
    }),
  });

  const client = opening.adopt(
    new ApiClient(inProcessTransport(handler, { bearerToken: loopback.issue(serverUser) })),
    (opened) => opened.close(),
  );
  const grantTo = (signers: readonly ConfiguredSigner[]): Promise<void> =>
    retryOnConflict(() =>
      access.prepare(client, [...wellKnownSignerGrants(names), ...configuredSignerGrants(signers)]),
    );
  await grantTo(configuredSigners());
  await retryOnConflict(() => core.prepare(client));
  const delegated = access.delegatedAuthentication(client, { areThereOthers: usesEtcd });
  await retryOnConflict(() => delegated.publish());

  const listener = opening.adopt(
    createListener({
      handler,
      log,
      certificate: certificate.current(),
      tls: certificate.tls,
      limits: {
        connections: connectionLimit(config.listener.maximumConnections, openFileLimit()),
        connectionsPerAddress: config.listener.maximumConnectionsPerAddress,
      },
    }),
    (opened) => opened.close({ graceMilliseconds }),
  );
  openStreams = () => listener.openStreams();
  certificate.onRenewed((renewed) => listener.setCertificate(renewed));
  const { host, advertisedHost } = config.listener;
  const { passedSocket } = given;
  const port = await listener.listen(
    passedSocket === undefined ? { host, port: config.listener.port, isPortShared } : { fileDescriptor: passedSocket },
  );
  url = `https://${advertisedHost.includes(":") ? `[${advertisedHost}]` : advertisedHost}:${port}`;
  folder.describe(url);
  const plain = opening.adopt(await status?.listen({ ...config.listener, isPortShared }), (opened) => opened?.close());
  const caCertificates = (): string => certificate.caCertificates();
  const administrator = await openAdministrator({
    ...shared,
    client,
    revocation,
    caCertificates,
    server: url,
    authority: () => own.administrator.current(),
    lifetimeMilliseconds: config.listener.administratorLifetimeMilliseconds,
    revocationSettings: certificateSettings.revocation,
  });
  if (config.listener.certificate === undefined) {
    const shown = (): string => certificate.current().cert;
    opening.adopt(await status?.keepRecordOf(shown, revocation), (looks) => looks?.stop());
  }

  for (const file of dataDirectoryFiles(dataDirectory).keys.filter((key) => !keysBefore.includes(key))) {
    log.info({ file }, "private key made");
  }
  const running = opening.move();
  let hasLoops = false;
  const startLoops = (): void => {
    if (hasLoops || health.isStopping) return;
    hasLoops = true;
    running.use(
      startServerLoops({
        ...shared,
        config,
        store,
        stores,
        handler,
        authorities,
        certificate,
        status,
        policy,
        grantTo,
        administrator,
        delegated,
        issueSecretToken: tokens.issueSecretToken,
        controllersToken: () => loopback.issue(controllersUser(names)),
        queueCounts: observation.queueCounts,
      }),
    );
  };
  if (loops === "at once") startLoops();
  return {
    version: signetVersion,
    url,
    port,
    revocationHttpUrl: plain?.url,
    kubeconfigFile: administrator.kubeconfigFile,
    get caCertificates() {
      return caCertificates();
    },
    handler,
    client,
    store,
    metricsText: () => metrics.text(),
    readFilesAgain: () => followed.look({ isAskedFor: true }),
    startLoops,
    async stop(stopOptions = { graceMilliseconds: 0 }) {
      ({ graceMilliseconds } = stopOptions);
      health.isStopping = true;
      await running.disposeAsync();
    },
  };
}
