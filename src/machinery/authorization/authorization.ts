import type { AuthorizationAttributes, Authorize, Decision } from "../api/attributes.ts";
import { andThen } from "../api/maybe-promise.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { mastersGroup } from "../api/user-info.ts";
import type { Authorizer } from "./authorizer.ts";

const masters: Decision = { decision: "allow", reason: "" };

/**
 * Asks one authorizer after the other. The first that allows or denies decides; without an opinion the request is denied.
 * Members of `system:masters` may do everything before anyone is asked: they are who repairs broken rules.
 *
 * `spell` brings names that have two spellings into the one that authorizers compare. Default: every name has one.
 */
export function createAuthorization(
  authorizers: readonly Authorizer[],
  spell: (attributes: AuthorizationAttributes) => AuthorizationAttributes = (attributes) => attributes,
): Authorize {
  return (asked) => {
    if (asked.user.groups.includes(mastersGroup)) return masters;
    const attributes = spell(asked);
    const ask = (index: number, reasons: readonly string[]): MaybePromise<Decision> => {
      const authorize = authorizers[index];
      if (authorize === undefined) return { decision: "noOpinion", reason: reasons.join("\n") };
      return andThen(authorize(attributes), (decision) => {
        if (decision.decision !== "noOpinion") return decision;
        return ask(index + 1, decision.reason === "" ? reasons : [...reasons, decision.reason]);
      });
    };
    return ask(0, noReasons);
  };
}

const noReasons: readonly string[] = [];
