import { ownSignerName } from "../signer-names.ts";
import { computedOnce } from "../../../machinery/api/computed-once.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { apiserverClientNodeAgent } from "./apiserver-client-node-agent.ts";
import { apiserverClient } from "./apiserver-client.ts";
import { nodeAgentServing } from "./node-agent-serving.ts";
import type { WellKnownSigner } from "./signer.ts";

const records = [apiserverClient, apiserverClientNodeAgent, nodeAgentServing] as const;

/** A signer's name in flags and files. */
export type SignerShortName = (typeof records)[number]["shortName"];

/** The server's own signers. */
export const wellKnownSigners: readonly (WellKnownSigner & { readonly shortName: SignerShortName })[] = records;

/** The server's own signer with this name, in either spelling. Undefined when there is none. */
export const findWellKnownSigner = (names: Names, signerName: string): (typeof wellKnownSigners)[number] | undefined =>
  wellKnownByName(names).get(ownSignerName(names, signerName));

const wellKnownByName = computedOnce(
  (names: Names) => new Map(wellKnownSigners.map((signer) => [signer.nameIn(names), signer])),
);

/** Whether a signer, by its name in either spelling, issues the client certificates with which machines authenticate as nodes. */
export function joinsNodes(names: Names, signerName: string): boolean {
  const signer = findWellKnownSigner(names, signerName);
  return signer?.certifies === "node" && signer.isClientAuthenticating;
}

/** A value for each of the server's own signers, by short name. */
export const bySigner = <T>(valueOf: (shortName: SignerShortName) => T): Readonly<Record<SignerShortName, T>> =>
  // `fromEntries` loses the type of the keys, but here they are complete.
  Object.fromEntries(wellKnownSigners.map(({ shortName }) => [shortName, valueOf(shortName)])) as Record<
    SignerShortName,
    T
  >;
