import type { Names } from "../machinery/api/names.ts";
import type { AgentListener } from "./agent-listener.ts";
import type { ServiceCertificate } from "./agent-settings.ts";
import type { BundleFileOptions } from "./files/bundle-file.ts";
import type { CertificateContext, ManagedCertificate } from "./certificates/managed-certificate.ts";
import type { NodeIdentity } from "./connection/node-identity.ts";
import type { ServerClock } from "./connection/server-clock.ts";

/** What all parts of an agent share. */
export interface AgentContext extends CertificateContext {
  readonly version: string;
  readonly serverClock: ServerClock;
}

/** The certificates of an agent. */
export interface AgentCertificates {
  readonly client: ManagedCertificate;
  readonly serving: ManagedCertificate;
  readonly services: readonly (ManagedCertificate & { readonly service: ServiceCertificate })[];
}

/** What the loops of an agent share. */
export interface AgentParts extends AgentContext, AgentCertificates {
  readonly identity: NodeIdentity;
  readonly listener: AgentListener;
  /** Called with the contents of a trust bundle's file. */
  readonly onTrustBundle: BundleFileOptions["onContents"];
  readonly onAnchors: BundleFileOptions["onAnchors"];
}

/** What the loops share once the server's naming profile is known. */
export interface NodeParts extends AgentParts {
  readonly names: Names;
}
