import type { JwsAlgorithm } from "./issuer-key.ts";

/** An issuer that is trusted, as it was configured. */
export interface Issuer {
  /** The claim `iss`, and where the issuer's document is found unless `discoveryUrl` says otherwise. */
  readonly url: string;
  readonly discoveryUrl: string | undefined;
  /** PEM of the CAs of the issuer's server. Undefined: the system's. */
  readonly certificateAuthority: string | undefined;
  /** A token must be for one of them. */
  readonly audiences: readonly string[];
  /** Undefined: every algorithm that is known. */
  readonly algorithms: readonly JwsAlgorithm[] | undefined;
}
