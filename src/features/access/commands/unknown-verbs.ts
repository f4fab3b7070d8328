import { didYouMean } from "../../../machinery/command-line/did-you-mean.ts";
import { constrainedModes } from "../credentials/impersonation-modes.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";

const requestsToResources = "* get list watch create update patch delete deletecollection".split(" ");
const requestsToPaths = "* get post put delete patch head options".split(" ");
/** The verbs that allow these requests as another user. */
const asOthers = (verbs: readonly string[]): string[] =>
  constrainedModes.flatMap((mode) => verbs.map((verb) => `impersonate-on:${mode}:${verb}`));

/** The verbs that kubectl's `create role` knows, those of signers, and those of impersonation. */
const verbsOfResources = [
  ...requestsToResources,
  ..."proxy use bind escalate impersonate approve sign attest".split(" "),
  ...constrainedModes.map((mode) => `impersonate:${mode}`),
  ...asOthers(requestsToResources),
];
const verbsOfPaths = [...requestsToPaths, ...asOthers(requestsToPaths)];

interface Asked {
  readonly areOfResources: boolean;
  readonly areOfPaths: boolean;
}

/**
 * Warns of verbs that no request has. Such a verb may be meant for a program that asks with access reviews, but is more often a typing
 * error.
 */
export function warnOfUnknownVerbs(verbs: readonly string[], { areOfResources, areOfPaths }: Asked): void {
  const known = new Set([...(areOfResources ? verbsOfResources : []), ...(areOfPaths ? verbsOfPaths : [])]);
  for (const verb of verbs) {
    if (known.has(verb)) continue;
    console.error(`warning: no request to the server has the verb ${printable(verb)}${didYouMean(verb, known)}`);
  }
}
