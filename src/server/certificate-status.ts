import type { Logger } from "pino";
import type { SigningAuthorities } from "../features/certificates/authorities/signing-authorities.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import { statusPath } from "../features/certificates/status/addresses.ts";
import type { AnsweringAuthority } from "../features/certificates/status/ocsp-responders.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import type { PathRoutes } from "../machinery/http/path-routes.ts";
import { pageNotFound } from "../machinery/http/response.ts";
import type { Stores } from "../machinery/registry/stores.ts";
import type { ListenerSettings } from "./listener-settings.ts";
import type { PlainListener } from "./plain-listener.ts";

export interface CertificateStatusOptions {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stores: Stores;
  readonly signing: SigningAuthorities;
  readonly configuredSigners: () => readonly ConfiguredSigner[];
  readonly client: () => ApiClient;
}

/** What `--revocation-url` serves: revocation lists, CA certificates and OCSP. */
export interface CertificateStatus {
  readonly routes: PathRoutes;
  /**
   * Serves the same over plain HTTP, if the settings say where: all of it is signed, and a client that had to verify a TLS
   * certificate first, in order to learn whether certificates are revoked, would go in circles.
   */
  listen(
    where: Pick<ListenerSettings, "revocationAddress"> & { readonly isPortShared: boolean },
  ): Promise<PlainListener | undefined>;
}

export async function openCertificateStatus(options: CertificateStatusOptions): Promise<CertificateStatus> {
  const { names, log, signing, configuredSigners } = options;
  const { connectStatus } = await import("../features/certificates/status/connect-status.ts");
  const authorities = (): readonly AnsweringAuthority[] =>
    [
      ...wellKnownSigners.map((signer) => {
        const signerName = signer.nameIn(names);
        return { signerName, authority: signing.authorityFor(signerName) };
      }),
      ...configuredSigners().map((signer) => ({ signerName: signer.name, authority: signer.existingAuthority() })),
    ].flatMap(({ signerName, authority }) => (authority === undefined ? [] : [{ signerName, authority }]));
  const answer = await connectStatus({ ...options, authorities });
  return {
    routes: new Map([[statusPath, { methods: "any", handle: answer }]]),
    async listen({ revocationAddress, isPortShared }) {
      if (revocationAddress === undefined) return undefined;
      const { startPlainListener } = await import("./plain-listener.ts");
      const { maximumRequestBytes } = await import("../features/certificates/status/status-routes.ts");
      const listener = await startPlainListener({
        ...{ ...revocationAddress, isPortShared, log },
        answer: async (request) =>
          request.path.startsWith(statusPath)
            ? answer({ ...request, readBody: () => request.readBody(maximumRequestBytes) })
            : pageNotFound(),
      });
      log.info({ url: `${listener.url}${statusPath}` }, "serving revocation lists and OCSP over plain HTTP");
      return listener;
    },
  };
}
