import { didYouMean } from "../../../machinery/command-line/did-you-mean.ts";
import { printable } from "../../../machinery/command-line/printable.ts";

/** Those that kubectl's `create role` knows, and those of signers. */
const verbsOfResources =
  "* get list watch create update patch delete deletecollection proxy use bind escalate impersonate approve sign attest";
const verbsOfPaths = "* get post put delete patch head options";

interface Asked {
  readonly areOfResources: boolean;
  readonly areOfPaths: boolean;
}

/** Warns of verbs that no request has. A program may ask with one in an access review, but more often it is a slip. */
export function warnOfUnknownVerbs(verbs: readonly string[], { areOfResources, areOfPaths }: Asked): void {
  const known = new Set([
    ...(areOfResources ? verbsOfResources.split(" ") : []),
    ...(areOfPaths ? verbsOfPaths.split(" ") : []),
  ]);
  for (const verb of verbs) {
    if (known.has(verb)) continue;
    console.error(`warning: no request to the server has the verb ${printable(verb)}${didYouMean(verb, known)}`);
  }
}
