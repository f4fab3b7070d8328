import type { CertificateReport } from "./certificates/certificate-manager.ts";

/** What an agent tells people about itself. Contains nothing secret. Times are milliseconds since the epoch. */
export interface AgentStatus {
  readonly nodeName: string;
  /** The time of the server's clock. */
  readonly now: number;
  readonly certificates: readonly (CertificateReport & { readonly fileFault: string | undefined })[];
  /** `anchors` is undefined until the server has answered. `fault` says why the file is not written. */
  readonly trustBundles: readonly {
    readonly file: string;
    readonly anchors: number | undefined;
    readonly fault?: string;
  }[];
  /** What fails now and is tried again, for example because the server does not answer. */
  readonly outages: readonly string[];
  readonly hookFaults: readonly string[];
  /** Whether a hook runs, or will run again. */
  readonly hasPendingHooks: boolean;
}

/**
 * Why the agent is not ready: certificates that are missing, revoked, refused by the server, expired or not valid yet, files that cannot
 * be written, hooks that fail.
 */
export const agentFaults = ({ certificates, trustBundles, now, hookFaults }: AgentStatus): string[] => [
  ...certificates.flatMap(({ name, state, notAfter, fileFault }) => [
    ...(notAfter === undefined ? [`there is no ${name} certificate`] : []),
    ...(notAfter !== undefined && now > notAfter ? [`the ${name} certificate has expired`] : []),
    ...(state === "revoked" ? [`the ${name} certificate is revoked`] : []),
    ...(state === "refused" ? [`the server refuses the ${name} certificate`] : []),
    ...(state === "early" ? [`the ${name} certificate is not valid yet`] : []),
    ...(fileFault === undefined ? [] : [`the files of the ${name} certificate are not written: ${fileFault}`]),
  ]),
  ...trustBundles.flatMap(({ fault }) => (fault === undefined ? [] : [`a trust bundle is not written: ${fault}`])),
  ...hookFaults,
];
