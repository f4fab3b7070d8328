import type { UserInfo } from "../api/user-info.ts";
import type { VerifyToken } from "../../features/accounts/tokens/service-account-tokens.ts";
import { commonAudiences, notMine, refused } from "./token-outcome.ts";

/** Asks one verifier after the other. A refusal is remembered and the next is asked: one good answer is enough. */
export function tokenChain(verifiers: readonly VerifyToken[]): VerifyToken {
  return (token, audiences) => {
    const faults = new Set<string>();
    for (const verify of verifiers) {
      const answer = verify(token, audiences);
      if (answer.outcome === "authenticated") return answer;
      if (answer.outcome === "refused") faults.add(answer.message);
    }
    return faults.size === 0 ? notMine : refused(`[invalid bearer token, ${[...faults].join(", ")}]`);
  };
}

/** Makes a verifier of tokens that know no audiences: they are good for those of this API, and for no others. */
export function forApiAudiences(
  find: (token: string) => UserInfo | undefined,
  apiAudiences: readonly string[],
): VerifyToken {
  return (token, audiences) => {
    const common = commonAudiences(audiences, apiAudiences);
    if (common.length === 0) return notMine;
    const user = find(token);
    return user === undefined ? notMine : { outcome: "authenticated", user, audiences: common };
  };
}
