import type { Logger } from "pino";
import { unauthorized } from "../machinery/api/api-error.ts";
import type { AdmissionRule, Authorize } from "../machinery/api/attributes.ts";
import { systemClock } from "../machinery/api/clock.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Handler } from "../machinery/api/http-message.ts";
import { namesFor } from "../machinery/api/names.ts";
import type { Names, Profile } from "../machinery/api/names.ts";
import { anonymousUsername } from "../machinery/api/user-info.ts";
import {
  bearerTokenWarnings,
  createImpersonation,
  identityHeaderRemover,
} from "../machinery/authentication/authentication.ts";
import type { ServeOptions } from "./serve-flags.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { inProcessTransport } from "../machinery/client/in-process-transport.ts";
import type { OwnedFolder } from "../machinery/files/owned-folder.ts";
import { createApiServer } from "../machinery/http/api-server.ts";
import { createListener } from "../machinery/http/listener.ts";
import { createResourceHandler } from "../machinery/http/resources/resource-handler.ts";
import { ChangeFeed } from "../machinery/storage/change-feed.ts";
import type { Store } from "../machinery/storage/store.ts";
import { afterOthersWrites } from "./wait-for-fresh-cache.ts";
import { writeAdminKubeconfig } from "./admin-kubeconfig.ts";
import { openApprovalPolicy } from "../features/certificates/policy/approval-policy-file.ts";
import { openAuditFile } from "./audit-file.ts";
import { clientAuthorityFiles, frontProxyHeaders, openAuthentication } from "./authentication-services.ts";
import { openAuthorization } from "./authorization-services.ts";
import type { AuthorizationServices } from "./authorization-services.ts";
import { openClusterAuthorities } from "../features/certificates/authorities/cluster-authorities.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import { impersonationOnlyCallers } from "./impersonation-only-callers.ts";
import { createReservedNamespaces } from "../features/core/reserved-namespaces.ts";
import { tokenObjects } from "../features/accounts/look-ups.ts";
import { controllersUser, serverUser } from "./loopback-users.ts";
import { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { agreeOnIdentity } from "./replica-identity.ts";
import { despiteOtherReplicas } from "./retry-on-conflict.ts";
import { openStore, usesEtcd } from "./open-store.ts";
import { ownDataDirectory } from "./own-data-directory.ts";
import { storeChecks } from "./store-checks.ts";
import { openApiSource } from "../machinery/http/open-api-source.ts";
import { reconcilePolicy } from "../features/access/policy/reconcile-policy.ts";
import { reviewDefinitions, storedDefinitions } from "./served-definitions.ts";
import { startServerControllers } from "./server-controllers.ts";
import { openAdmission, ServerRegistries } from "./server-registries.ts";
import { runningSigners } from "../features/certificates/signers/running-signers.ts";
import { openSignerConfiguration } from "../features/certificates/signers/signer-configuration.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { grantingWhenChanged } from "./configured-signer-grants.ts";
import { configuredSignerGrants, wellKnownSignerGrants } from "../features/certificates/signers/signer-grants.ts";
import { openSigningAuthorities } from "../features/certificates/authorities/signing-authorities.ts";
import { startCompaction } from "./compaction.ts";
import { connectionLimit, openFileLimit } from "./open-file-limit.ts";
import { openTokenServices } from "../features/accounts/token-services.ts";
import { openTlsCertificate } from "./tls-certificate.ts";
import { signetVersion } from "./signet-version.ts";

export interface StartOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  /** Asked about every write besides the server's own rules, after them. */
  readonly admission?: readonly AdmissionRule[];
  /** In place of the data directory's own store. The server closes it. */
  readonly store?: Store;
  /** The data directory, as a process that its owner has started. Default: this process becomes the owner. */
  readonly folder?: OwnedFolder;
  /** Controllers and compaction: at once (default), or when `startLoops` is called, for one of several processes. */
  readonly loops?: "at once" | "when told";
  /** Other processes write to the store too: a request is looked at once their writes are in this one's memory. */
  readonly isStoreShared?: boolean;
  /** Other processes of this server listen on the same port. */
  readonly isPortShared?: boolean;
}

/** A server that answers. */
export interface RunningServer {
  readonly version: string;
  readonly url: string;
  readonly port: number;
  readonly kubeconfigFile: string;
  /** PEM of what verifies the serving certificate. */
  readonly caCertificates: string;
  /** Answers requests in this process, through the same chain. */
  readonly handler: Handler;
  /** A client in this process that may do everything. */
  readonly client: ApiClient;
  readonly store: Store;
  /** Starts controllers, unless the settings say that they run elsewhere, and compaction; once. */
  startLoops(): void;
  /** Ends requests, watches, loops and the store, in this order. */
  stop(options?: { readonly graceMilliseconds: number }): Promise<void>;
}

/**
 * Composes a server from its parts and starts it: store, copies in memory, identity and permissions, the request chain, the
 * listener, then what must be there before anyone comes (default policy, reserved namespaces, the administrator's
 * kubeconfig), then the loops. Throws UsageError for settings that can't be used.
 */
export async function startServer(
  options: ServeOptions,
  {
    log,
    clock = systemClock,
    admission = [],
    store: givenStore,
    folder: givenFolder,
    loops = "at once",
    isStoreShared = usesEtcd(options),
    isPortShared = false,
  }: StartOptions,
): Promise<RunningServer> {
  const names = namesFor(options.profile as Profile);
  // A wrong setting is told before anything is made.
  enabledControllers(options.controllers);
  const folder = givenFolder ?? ownDataDirectory(options["data-dir"]);
  let store = givenStore;
  try {
    store ??= await openStore(options);
    const foundations = { log, clock, names, admission, folder, store, isStoreShared, isPortShared };
    const server = await composeServer(options, foundations);
    if (loops === "at once") server.startLoops();
    return server;
  } catch (error) {
    await store?.close();
    folder.release();
    throw error;
  }
}

interface Foundations {
  readonly log: Logger;
  readonly clock: Clock;
  readonly names: Names;
  readonly admission: readonly AdmissionRule[];
  readonly store: Store;
  readonly folder: OwnedFolder;
  readonly isStoreShared: boolean;
  readonly isPortShared: boolean;
}

async function composeServer(
  options: ServeOptions,
  { log, clock, names, admission: moreRules, folder, store, isStoreShared, isPortShared }: Foundations,
): Promise<RunningServer> {
  const dataDirectory = options["data-dir"];
  const authorities = openClusterAuthorities(dataDirectory, clock);
  const signing = openSigningAuthorities({ options, names, clock, own: authorities.ofSigner });
  const policy = openApprovalPolicy(options["approval-policy"], log);
  const otherClientAuthorities = clientAuthorityFiles(options);
  const configuredSigners = openSignerConfiguration({
    file: options["signer-config"],
    generated: usesEtcd(options)
      ? { type: "refused", reason: "replicas share no data directory: give certificateFile and keyFile" }
      : { type: "allowed", dataDirectory },
    clientAuthorities: () => [
      authorities.administrator.certificate,
      ...signing.clientAuthorities(),
      ...otherClientAuthorities,
    ],
    clock,
    log,
  });
  const certificate = openTlsCertificate(options, { authority: authorities.server, clock, log });

  const registry: ServerRegistries["find"] = (plural) => registries.find(plural);
  const objects = tokenObjects(registry);
  const tokens = openTokenServices({ options, names, clock, objects });
  if (usesEtcd(options)) await agreeOnIdentity(store, { authorities, ...tokens });
  const definitions = storedDefinitions(names, { options, tokens, objects });
  // What decides needs what is stored, and what is stored asks what decides: it is there before the first request.
  let authorization: AuthorizationServices | undefined;
  const authorize: Authorize = (attributes) => {
    if (authorization === undefined) throw unauthorized();
    return authorization.authorize(attributes);
  };
  const resolver = (): AuthorizationServices["resolver"] => {
    if (authorization === undefined) throw unauthorized();
    return authorization.resolver;
  };
  const feed = new ChangeFeed({ store });
  const admission = [
    ...openAdmission({ names, authorize, apiAudiences: tokens.apiAudiences, registry, definitions, resolver }),
    ...moreRules,
  ];
  const maximumObjectBytes = options["max-request-bytes"];
  const registries = new ServerRegistries({ definitions, store, feed, admission, clock, maximumObjectBytes });
  await registries.start();
  authorization = openAuthorization(options, { names, registry });

  const loopback = new LoopbackTokens();
  const authentication = openAuthentication({
    options,
    names,
    clock,
    log,
    registry,
    tokens,
    loopback,
    clientAuthorities: () => [authorities.administrator.certificate, ...signing.clientAuthorities()],
  });
  const impersonate = createImpersonation(names, authorize, impersonationOnlyCallers(options, names));
  const reviews = reviewDefinitions(names, { authentication, authorize, resolver: authorization.resolver });
  const audit = openAuditFile(options, { clock, log });
  const served = [...definitions, ...reviews];
  const health = { isStopping: false };
  let openStreams = (): number => 0;
  let url = "";
  const authenticate: typeof authentication.authenticate = (request) => authentication.authenticate(request);
  const { handler } = createApiServer({
    definitions: served,
    authenticate: isStoreShared ? afterOthersWrites(authenticate, () => registries.catchUp()) : authenticate,
    impersonate: (request, user) => impersonate(request.headers, user),
    authorize,
    withoutIdentity: identityHeaderRemover(frontProxyHeaders(options)),
    identityWarnings: (request, user) =>
      user.username === anonymousUsername ? bearerTokenWarnings(request.headers) : [],
    handleResource: createResourceHandler({ registries: registries.all, reviews, admission, authorize, clock }),
    openApi: openApiSource({ names, version: signetVersion, resources: definitions, reviews }),
    openIdDocuments: () => tokens.discovery(`${url}/openid/v1/jwks`),
    healthChecks: [
      ...storeChecks(store, registries),
      {
        name: "shutdown",
        endpoints: ["readyz"],
        check: () => {
          if (health.isStopping) throw new Error("the server is stopping");
        },
      },
    ],
    log,
    ...(audit !== undefined && { audit }),
    signetVersion,
    serverAddress: () => url.replace("https://", ""),
    openStreams: () => openStreams(),
    maximumReads: options["max-requests-inflight"],
    maximumWrites: options["max-mutating-requests-inflight"],
  });

  const client = new ApiClient(
    inProcessTransport(handler, {
      bearerToken: loopback.issue(serverUser),
    }),
  );
  const keeper = { names, registry, client };
  const grantTo = (signers: readonly ConfiguredSigner[]): Promise<void> =>
    despiteOtherReplicas(() =>
      reconcilePolicy(keeper, [...wellKnownSignerGrants(names), ...configuredSignerGrants(signers)]),
    );
  await grantTo(configuredSigners());
  await despiteOtherReplicas(() => createReservedNamespaces(keeper));

  const listener = createListener({
    handler,
    certificate: certificate.current(),
    limits: {
      connections: connectionLimit(options["max-connections"], openFileLimit()),
      connectionsPerAddress: options["max-connections-per-address"],
    },
    log,
  });
  openStreams = () => listener.openStreams();
  certificate.onRenewed((renewed) => listener.setCertificate(renewed));
  const port = await listener.listen({ host: options["bind-address"], port: options["secure-port"], isPortShared });
  url = serverUrl(options, port);
  let kubeconfigFile: string;
  try {
    folder.describe(url);
    const { caCertificates } = certificate;
    const authority = authorities.administrator;
    kubeconfigFile = writeAdminKubeconfig({ dataDirectory, authority, clock, server: url, caCertificates });
  } catch (error) {
    certificate.stop();
    await listener.close({ graceMilliseconds: 0 });
    throw error;
  }

  let loops: readonly { stop(): void | Promise<void> }[] = [];
  const startLoops = (): void => {
    if (loops.length > 0 || health.isStopping) return;
    const compaction = startCompaction({ store, clock, log });
    if (enabledControllers(options.controllers).size === 0) {
      loops = [compaction];
      return;
    }
    const controllers = startServerControllers({
      options,
      names,
      clock,
      log,
      definitions,
      handler,
      bearerToken: loopback.issue(controllersUser(names)),
      caCertificates: certificate.caCertificates,
      issueSecretToken: tokens.issueSecretToken,
      signers: runningSigners({
        names,
        authorityFor: signing.authorityFor,
        configured: grantingWhenChanged(configuredSigners, { grantTo, log }),
        maximumLifetimeSeconds: Math.floor(options["cluster-signing-duration"] / 1000),
      }),
      policy,
      server: () => certificate.identity(),
    });
    loops = [compaction, controllers];
  };
  return {
    version: signetVersion,
    url,
    port,
    kubeconfigFile,
    caCertificates: certificate.caCertificates,
    handler,
    client,
    store,
    startLoops,
    async stop({ graceMilliseconds } = { graceMilliseconds: 0 }) {
      health.isStopping = true;
      certificate.stop();
      for (const loop of loops) await loop.stop();
      await listener.close({ graceMilliseconds });
      client.close();
      feed.close();
      await store.close();
      folder.release();
      await audit?.close();
    },
  };
}

function serverUrl(options: ServeOptions, port: number): string {
  const host = options["advertise-address"] ?? reachable(options["bind-address"]);
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Nobody can connect to "every address". */
const reachable = (address: string): string =>
  address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
