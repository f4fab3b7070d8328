import type { Logger } from "pino";
import type { ClusterAuthorities } from "../authorities/cluster-authorities.ts";
import { withOtherGenerations } from "../authorities/signing-authority.ts";
import type { SigningAuthorities } from "../authorities/signing-authorities.ts";
import type { ConfiguredSigner } from "../signers/signer-configuration.ts";
import { signerNames } from "../signer-names.ts";
import type { RevocationSettings } from "../settings.ts";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { wellKnownSigners } from "../signers/well-known-signers.ts";
import { revocationPath } from "./addresses.ts";
import type { AnsweringAuthority } from "./ocsp-responders.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";
import { periodically } from "../../../machinery/api/periodically.ts";
import { recordOwnCertificate } from "../inventory/certificate-record.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { PathRoutes } from "../../../machinery/http/path-routes.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { pageNotFound } from "../../../machinery/http/response.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import type { PlainListener } from "../../../machinery/http/plain-listener.ts";

export interface CertificateStatusOptions {
  readonly settings: RevocationSettings;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stores: Stores;
  readonly signing: SigningAuthorities;
  /** The CAs of the data directory, which sign the server's and the administrator's certificates in any case. */
  readonly own: ClusterAuthorities;
  readonly configuredSigners: () => readonly ConfiguredSigner[];
  readonly client: () => ApiClient;
}

/** What `--revocation-url` serves: revocation lists, CA certificates and OCSP. */
export interface CertificateStatusService {
  readonly routes: PathRoutes;
  readonly listPublisher: Controller;
  /** Puts the serving certificate into the inventory, for OCSP, and the next one too until it is stopped. */
  keepRecordOf(shown: () => string, revocation: { onRevoked(listener: () => void): void }): Promise<{ stop(): void }>;
  /**
   * Serves the same over plain HTTP, if the settings say where: all of it is signed, and a client that had to verify a TLS
   * certificate first, in order to learn whether certificates are revoked, would go in circles.
   */
  listen(where: {
    readonly revocationAddress: { readonly host: string; readonly port: number } | undefined;
    readonly isPortShared: boolean;
  }): Promise<PlainListener | undefined>;
}

/** How often to look whether the serving certificate is another one. */
const lookMilliseconds = 60_000;

export async function openCertificateStatus(options: CertificateStatusOptions): Promise<CertificateStatusService> {
  const { settings, names, log, signing, own, configuredSigners } = options;
  const { connectStatus } = await import("./connect-status.ts");
  const { revocationListPublisher } = await import("./revocation-list-publisher.ts");
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
  const answer = await connectStatus({ ...options, authorities });
  return {
    routes: new Map([[revocationPath, { methods: "any", handle: answer }]]),
    listPublisher: revocationListPublisher({
      settings,
      authorities: () => authorities().map(({ authority }) => authority),
    }),
    async keepRecordOf(shown, revocation) {
      let recorded = "";
      const look = async (): Promise<void> => {
        const pem = shown();
        const [certificate] = parseCertificatesPem(pem);
        if (pem === recorded || certificate === undefined) return;
        const signerName = signerNames.apiserverServing(names);
        const own = { certificate, signerName, username: certificate.subject.commonName };
        await recordOwnCertificate({ client: options.client(), names }, own);
        recorded = pem;
      };
      const onFailure = (error: unknown): void =>
        log.error({ err: error }, "could not put the serving certificate into the inventory, will retry");
      await look();
      revocation.onRevoked(() => void look().catch(onFailure));
      return periodically({ milliseconds: lookMilliseconds, task: look, onFailure });
    },
    async listen({ revocationAddress, isPortShared }) {
      if (revocationAddress === undefined) return undefined;
      const { startPlainListener } = await import("../../../machinery/http/plain-listener.ts");
      const { maximumRequestBytes } = await import("./status-routes.ts");
      const listener = await startPlainListener({
        ...{ ...revocationAddress, isPortShared, log },
        answer: async (request) =>
          request.path.startsWith(revocationPath)
            ? answer({ ...request, readBody: () => request.readBody(maximumRequestBytes) })
            : pageNotFound(),
      });
      log.info({ url: `${listener.url}${revocationPath}` }, "serving revocation lists and OCSP over plain HTTP");
      return listener;
    },
  };
}
