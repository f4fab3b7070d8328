import type { AuthorizationAttributes, Decision, Authorize } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { mastersGroup } from "../api/user-info.ts";

/**
 * One authorizer. Never throws. Returns a promise only when long work is divided into turns, or when another program must be asked. The
 * promise rejects with a 429 ApiError when too many questions wait for that program.
 */
export type Authorizer = (attributes: AuthorizationAttributes) => MaybePromise<Decision>;

export type AuthorizerInMemory = (attributes: AuthorizationAttributes) => Decision;

/** Lets everyone do everything: for development only. */
export const alwaysAllow: AuthorizerInMemory = () => ({ decision: "allow", reason: "" });

/** Allows nothing. Members of `system:masters` are allowed everything before any authorizer is asked. */
export const alwaysDeny: AuthorizerInMemory = () => ({ decision: "noOpinion", reason: "Everything is forbidden." });

/** Lets everyone, also callers without credentials, read all paths below a folder and post to them. */
export const publicFolder =
  (folder: string): AuthorizerInMemory =>
  (attributes) =>
    attributes.kind === "path" &&
    ["get", "head", "post"].includes(attributes.verb) &&
    attributes.path.startsWith(folder)
      ? { decision: "allow", reason: "a public path" }
      : { decision: "noOpinion", reason: "" };

/** Lets everyone read certain paths, callers without credentials included. For everything else it has no opinion. */
export function publicPaths(paths: readonly string[]): AuthorizerInMemory {
  const allowed = new Set(paths);
  return (attributes) =>
    attributes.kind === "path" && attributes.verb === "get" && allowed.has(attributes.path)
      ? { decision: "allow", reason: "a public path" }
      : { decision: "noOpinion", reason: "" };
}

const masters: Decision = { decision: "allow", reason: "" };

/**
 * Asks one authorizer after the other. The first that allows or denies decides. If none has an opinion, the request is denied. Members of
 * `system:masters` may do everything without a question to an authorizer, so that they can repair broken rules.
 *
 * `authorizers` returns the current authorizers, which may change while the server runs. A request keeps the authorizers that it began
 * with. `spell` converts names with two spellings to the spelling that authorizers compare. Default: names have one spelling.
 */
export function createAuthorization(
  authorizers: () => readonly Authorizer[],
  spell: (attributes: AuthorizationAttributes) => AuthorizationAttributes = (attributes) => attributes,
): Authorize {
  return (asked) => {
    if (asked.user.groups.includes(mastersGroup)) return masters;
    return ask({ attributes: spell(asked), authorizers: authorizers(), next: 0, noOpinions: noneYet });
  };
}

/** The state of a question to the authorizers. */
interface Question {
  readonly attributes: AuthorizationAttributes;
  readonly authorizers: readonly Authorizer[];
  /** The index of the authorizer to ask next. */
  readonly next: number;
  readonly noOpinions: NoOpinions;
}

// One function for all requests, as in createAuthentication.
function ask({ attributes, authorizers, next, noOpinions: earlier }: Question): MaybePromise<Decision> {
  let noOpinions = earlier;
  for (let index = next; index < authorizers.length; index += 1) {
    const decision = authorizers[index]?.(attributes);
    if (decision === undefined) break;
    if (decision instanceof Promise)
      return askLater(decision, { attributes, authorizers, next: index + 1, noOpinions });
    if (decision.decision !== "noOpinion") return decision;
    noOpinions = withNoOpinion(noOpinions, decision);
  }
  return undecided(noOpinions);
}

async function askLater(decision: Promise<Decision>, question: Question): Promise<Decision> {
  const later = await decision;
  return later.decision === "noOpinion"
    ? ask({ ...question, noOpinions: withNoOpinion(question.noOpinions, later) })
    : later;
}

/** What authorizers without an opinion said. */
interface NoOpinions {
  readonly reasons: readonly string[];
  readonly errors: readonly string[];
}

const noneYet: NoOpinions = { reasons: [], errors: [] };

function withNoOpinion(noOpinions: NoOpinions, { reason, evaluationError }: Decision): NoOpinions {
  if (reason === "" && evaluationError === undefined) return noOpinions;
  return {
    reasons: reason === "" ? noOpinions.reasons : [...noOpinions.reasons, reason],
    errors: evaluationError === undefined ? noOpinions.errors : [...noOpinions.errors, evaluationError],
  };
}

/** Upstream: `unionAuthzHandler`. */
function undecided({ reasons, errors }: NoOpinions): Decision {
  return {
    decision: "noOpinion",
    reason: reasons.join("\n"),
    ...(errors.length > 0 && { evaluationError: joinedErrors(errors) }),
  };
}

/** Several errors as one, each of them once (upstream: `utilerrors.NewAggregate`). */
export function joinedErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length === 1 ? different.join() : `[${different.join(", ")}]`;
}
