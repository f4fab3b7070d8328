import type { Log } from "../../../machinery/logging/log.ts";
import type { DataDirectoryAuthorities } from "../authorities/data-directory-authorities.ts";
import { withOtherGenerations } from "../authorities/signing-authority.ts";
import type { SigningAuthorities } from "../authorities/signing-authorities.ts";
import type { ConfiguredSigner } from "../signers/signer-configuration.ts";
import { signerNames } from "../signer-names.ts";
import type { RevocationSettings } from "../settings.ts";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { wellKnownSigners } from "../signers/well-known-signers.ts";
import { revocationPath } from "./addresses.ts";
import { revocationListPublisher } from "./revocation-list-publisher.ts";
import { statusRoutes } from "./status-routes.ts";
import type { AnswerStatus } from "./status-routes.ts";
import { OcspResponders } from "./ocsp-responders.ts";
import type { AnsweringAuthority } from "./ocsp-responders.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { periodically } from "../../../machinery/scheduling/periodically.ts";
import { recordOwnCertificate } from "../inventory/certificate-record.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { PathRoutes } from "../../../machinery/http/routes/path-routes.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { pageNotFound } from "../../../machinery/http/plain-text.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import type { PlainListener } from "../../../machinery/http/connections/plain-listener.ts";
import { rateLimitedReport } from "../../../machinery/logging/rate-limited-report.ts";
import { configMapResource } from "../../core/index.ts";
import { revocationResource } from "../../revocation/index.ts";
import { issuedCertificateResource } from "../resources.ts";
import { CertificateStatuses } from "./certificate-statuses.ts";
import { OcspAnswers } from "./ocsp-answers.ts";
import { PublishedLists } from "./published-lists.ts";

export interface CertificateStatusOptions {
  readonly settings: RevocationSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly stores: Stores;
  readonly signing: SigningAuthorities;
  /** The CAs of the data directory, which always sign the server's and the administrator's certificates. */
  readonly own: DataDirectoryAuthorities;
  readonly configuredSigners: () => readonly ConfiguredSigner[];
  readonly client: () => ApiClient;
}

/** The service of `--revocation-url`: revocation lists, CA certificates and OCSP. */
export interface CertificateStatusService {
  readonly routes: PathRoutes;
  readonly listPublisher: Controller;
  /** Puts the serving certificate into the inventory, for OCSP, and each later serving certificate, until it is stopped. */
  keepRecordOf(shown: () => string, revocation: { onRevoked(listener: () => void): void }): Promise<{ stop(): void }>;
  /**
   * Serves the same over plain HTTP, if the settings name an address. All answers are signed. A client that needs them to check TLS
   * certificates cannot depend on TLS to get them.
   */
  listen(where: {
    readonly revocationAddress: { readonly host: string; readonly port: number } | undefined;
    readonly isPortShared: boolean;
  }): Promise<PlainListener | undefined>;
}

/** How often to check whether the serving certificate has changed. */
const pollMilliseconds = 60_000;

/** Opens the service of `--revocation-url`; this module is loaded only with that flag. Call it after the registries have started. */
export async function openCertificateStatus(options: CertificateStatusOptions): Promise<CertificateStatusService> {
  const { settings, names, log, signing, own, configuredSigners } = options;
  const authorities = (): readonly AnsweringAuthority[] =>
    [
      ...wellKnownSigners.map((signer) => {
        const signerName = signer.nameIn(names);
        return { signerName, authority: signing.authorityFor(signerName) };
      }),
      ...configuredSigners().map((signer) => ({ signerName: signer.name, authority: signer.existingAuthority() })),
      { signerName: apiserverClient.nameIn(names), authority: own.administrator.current() },
      { signerName: signerNames.apiserverServing(names), authority: own.server.current() },
    ].flatMap(({ signerName, authority }) =>
      authority === undefined ? [] : withOtherGenerations(authority).map((one) => ({ signerName, authority: one })),
    );
  const answer = await openAnswerStatus({ ...options, authorities });
  return {
    routes: new Map([[revocationPath, { methods: "any", handle: answer }]]),
    listPublisher: revocationListPublisher({
      settings,
      authorities: () => authorities().map(({ authority }) => authority),
      configuredSigners,
    }),
    keepRecordOf: (shown, revocation) => keepRecordOf(shown, { ...options, revocation }),
    async listen({ revocationAddress, isPortShared }) {
      if (revocationAddress === undefined) return undefined;
      const { startPlainListener } = await import("../../../machinery/http/connections/plain-listener.ts");
      const listener = await startPlainListener({
        ...revocationAddress,
        isPortShared,
        log,
        answer: async (request) => (request.path.startsWith(revocationPath) ? answer(request) : pageNotFound()),
      });
      log.info({ url: `${listener.url}${revocationPath}` }, "serving revocation lists and OCSP over plain HTTP");
      return listener;
    },
  };
}

interface RecordOptions extends Pick<CertificateStatusOptions, "names" | "log" | "stores" | "client"> {
  readonly revocation: Parameters<CertificateStatusService["keepRecordOf"]>[1];
}

/** See `CertificateStatusService.keepRecordOf`. */
async function keepRecordOf(
  shown: () => string,
  { names, log, stores, client, revocation }: RecordOptions,
): Promise<{ stop(): void }> {
  let recorded = "";
  const record = async (): Promise<void> => {
    const pem = shown();
    const [certificate] = parseCertificatesPem(pem);
    if (pem === recorded || certificate === undefined) return;
    const signerName = signerNames.apiserverServing(names);
    const username = certificate.subject.commonName;
    await recordOwnCertificate({ client: client(), names, stores }, { certificate, signerName, username });
    recorded = pem;
  };
  const onFailure = (error: unknown): void =>
    log.error({ err: error }, "could not put the serving certificate into the inventory, will retry");
  await record();
  revocation.onRevoked(() => void record().catch(onFailure));
  return periodically({ milliseconds: pollMilliseconds, task: record, onFailure });
}

interface AnswerOptions extends Pick<CertificateStatusOptions, "names" | "clock" | "log" | "stores" | "client"> {
  /** The CAs whose keys are here. */
  readonly authorities: () => readonly AnsweringAuthority[];
}

/** Returns the function that answers requests for revocation lists and OCSP, after it has read the stored lists. */
async function openAnswerStatus({
  names,
  clock,
  log,
  stores,
  authorities,
  client,
}: AnswerOptions): Promise<AnswerStatus> {
  const badList = rateLimitedReport<{ name: string; fault: unknown }>(({ name, fault }, count) =>
    log.error(
      { name, err: fault, count },
      "a stored revocation list cannot be served: delete its ConfigMap, and it is made again",
    ),
  );
  const notAnswered = rateLimitedReport<unknown>((error, count) =>
    log.error({ err: error, count }, "could not answer OCSP, clients will try later"),
  );
  const lists = new PublishedLists({
    configMaps: stores.of(configMapResource),
    namespace: names.namespaces.system,
    onBadList: (name, fault) => badList({ name, fault }),
  });
  const statuses = new CertificateStatuses({
    records: stores.of(issuedCertificateResource),
    revocations: stores.of(revocationResource),
  });
  const responders = new OcspResponders({
    clock,
    record: (certificate, signerName) =>
      recordOwnCertificate({ client: client(), names, stores }, { certificate, signerName }),
  });
  const ocsp = new OcspAnswers({ authorities, statuses, responders, clock, onFailure: notAnswered });
  await lists.ready();
  return statusRoutes({ lists, ocsp, clock });
}
