import { badRequest } from "../../api/api-error.ts";
import type { ApiError } from "../../api/api-error.ts";

/** The answer to a JSON or merge patch whose text is no JSON; `fault` is the parser's sentence. (A strategic merge patch's is bare.) */
export const undecodablePatch = (fault: string): ApiError => badRequest(`error decoding patch: ${fault}`);
