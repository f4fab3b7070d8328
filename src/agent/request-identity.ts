import type { Certificate } from "../pki/certificate.ts";

/** As whom an agent asks for its client certificate. */
export type RequestIdentity =
  /** By the client certificate that it has. */
  | "node"
  /** By what it was given to begin with. */
  | "bootstrap";

export interface IdentityQuestion {
  /** The client certificate, if there is one. */
  readonly certificate: Certificate | undefined;
  /** The server answered 401 to it. */
  readonly isRefused: boolean;
  readonly hasBootstrap: boolean;
  readonly now: number;
}

/**
 * A node that has a certificate uses it, so that a bootstrap credential is needed once. One that ended or was refused is of
 * no use: then the machine introduces itself again, if it can. Undefined: there is nothing to ask with.
 */
export function requestIdentity(question: IdentityQuestion): RequestIdentity | undefined {
  const { certificate, isRefused, hasBootstrap, now } = question;
  const isUsable = certificate !== undefined && !isRefused && now <= certificate.notAfter;
  if (isUsable) return "node";
  if (hasBootstrap) return "bootstrap";
  // Perhaps the clock is what is wrong: the server is the one to judge.
  return certificate === undefined ? undefined : "node";
}
