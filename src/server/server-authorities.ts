import type { Log } from "../machinery/logging/log.ts";
import { openConfiguredAuthorities } from "../features/access/feature.ts";
import type { ConfiguredAuthorities } from "../features/access/feature.ts";
import { publishedClientTrust } from "../features/access/published-client-trust.ts";
import { openDataDirectoryAuthorities } from "../features/certificates/authorities/data-directory-authorities.ts";
import type { DataDirectoryAuthorities } from "../features/certificates/authorities/data-directory-authorities.ts";
import { GeneratedAuthorities } from "../features/certificates/authorities/generated-authorities.ts";
import type { GeneratedAuthoritiesOptions } from "../features/certificates/authorities/generated-authorities.ts";
import { openSigningAuthorities } from "../features/certificates/authorities/signing-authorities.ts";
import type { SigningAuthorities } from "../features/certificates/authorities/signing-authorities.ts";
import { openSignerConfiguration } from "../features/certificates/signers/signer-configuration.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import type { FollowedFiles } from "../machinery/files/followed/followed-files.ts";
import type { OutsideKeyObserver } from "../machinery/keys/outside-keys.ts";
import type { Stores } from "../machinery/registry/stores.ts";
import type { Store } from "../machinery/storage/store.ts";
import type { Certificate } from "../pki/certificates/certificate.ts";
import { checkReplicaFiles } from "./store/replica-identity.ts";
import type { ServerConfig } from "./settings/server-config.ts";

/**
 * The CAs with which a server signs, and the CAs that it trusts. They change with their files and with `signet ca`, so call these functions
 * each time, and do not keep their results.
 */
export interface ServerAuthorities {
  /** The CAs of the data directory. */
  readonly own: DataDirectoryAuthorities;
  readonly signing: SigningAuthorities;
  /** The CAs in files for the certificates of clients and front proxies. */
  readonly configuredAuthorities: ConfiguredAuthorities;
  readonly configuredSigners: () => readonly ConfiguredSigner[];
  /** Whether a CA was retired with `signet ca`. */
  isRetired(certificate: Certificate): boolean;
}

interface ServerAuthoritiesOptions extends Omit<GeneratedAuthoritiesOptions, "dataDirectory"> {
  readonly store: Store;
  /** The copies in memory, which are loaded. */
  readonly stores: Stores;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly observer: OutsideKeyObserver;
}

/** Opens the CAs. Rejects with UsageError for CAs that cannot be used, and for a replica whose CAs differ from the first replica's. */
export async function openServerAuthorities(
  { dataDirectory, names, storage, access, controllers: { certificates: settings } }: ServerConfig,
  { store, stores, ...options }: ServerAuthoritiesOptions,
): Promise<ServerAuthorities> {
  const { sealingKey, clock, log, followed, observer } = options;
  const isReplica = storage.type === "etcd";
  const own = openDataDirectoryAuthorities({ ...options, dataDirectory });
  // Before anything else, because nothing may be recorded about CAs that differ from those of the other replicas.
  if (isReplica) await checkReplicaFiles(store, { authorities: own, sealingKey });
  const signing = openSigningAuthorities({
    settings,
    dataDirectory,
    names,
    own: own.ofSigner,
    clock,
    log,
    followed,
    observer,
  });
  const configuredAuthorities = openConfiguredAuthorities(access, followed);
  // Other replicas may trust other CAs for clients.
  const trustOfReplicas = isReplica ? publishedClientTrust(stores, names) : () => [];
  const generated = new GeneratedAuthorities({ ...options, dataDirectory });
  const configuredSigners = openSignerConfiguration({
    file: settings.signerConfigurationFile,
    generated: isReplica
      ? { type: "refused", reason: "replicas do not share a data directory: set certificateFile and keyFile" }
      : { type: "allowed", authorities: generated },
    clientAuthorities() {
      const ofReplicas = trustOfReplicas();
      return (
        ofReplicas && [
          ...own.administrator.current().anchors,
          ...signing.clientAuthorities(),
          ...configuredAuthorities.ofClients(),
          ...configuredAuthorities.ofFrontProxies(),
          ...ofReplicas,
        ]
      );
    },
    clock,
    followed,
    observer,
  });
  const isRetired = (certificate: Certificate): boolean =>
    own.isRetired(certificate) || generated.isRetired(certificate);
  return { own, signing, configuredAuthorities, configuredSigners, isRetired };
}
