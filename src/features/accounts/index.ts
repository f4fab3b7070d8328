export { parseToken } from "./tokens/json-web-token.ts";
export type { ParsedToken } from "./tokens/json-web-token.ts";
export { VerifiedTokenCache } from "./tokens/verified-token-cache.ts";
export { tokenReviewSchema } from "./token-reviews.ts";
export type { TokenReview } from "./token-reviews.ts";
