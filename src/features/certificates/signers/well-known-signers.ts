import type { Names } from "../../../machinery/api/names.ts";
import { apiserverClientNodeAgent } from "./apiserver-client-node-agent.ts";
import { apiserverClient } from "./apiserver-client.ts";
import { nodeAgentServing } from "./node-agent-serving.ts";
import type { WellKnownSigner } from "./signer.ts";

const records = [apiserverClient, apiserverClientNodeAgent, nodeAgentServing] as const;

/** How flags and files call a signer. */
export type SignerWord = (typeof records)[number]["word"];

/** The server's own signers. */
export const wellKnownSigners: readonly (WellKnownSigner & { readonly word: SignerWord })[] = records;

/** The server's own signer with this name, if it is one's. */
export const findWellKnownSigner = (names: Names, signerName: string): (typeof wellKnownSigners)[number] | undefined =>
  wellKnownSigners.find((signer) => signer.nameIn(names) === signerName);

/** A value for each of the server's own signers, by its word. */
export const bySignerWord = <T>(valueOf: (word: SignerWord) => T): Readonly<Record<SignerWord, T>> =>
  // `fromEntries` forgets which keys there are: here all of them.
  Object.fromEntries(wellKnownSigners.map(({ word }) => [word, valueOf(word)])) as Record<SignerWord, T>;
