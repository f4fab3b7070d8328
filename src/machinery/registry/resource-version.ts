import { ApiError, badRequest } from "../api/api-error.ts";
import { goQuoted, shortened } from "../api/text/format-value.ts";

/** Parses a resourceVersion to a revision; "" becomes 0. Throws a 400 for a value that no server can have issued. */
export function parseResourceVersion(resourceVersion: string): number {
  if (resourceVersion === "") return 0;
  // Upstream's are unsigned integers of 64 bits.
  if (!/^\d+$/.test(resourceVersion)) throw noResourceVersion(resourceVersion, "invalid syntax");
  if (!isOf64Bits(resourceVersion)) throw noResourceVersion(resourceVersion, "value out of range");
  return Number(resourceVersion);
}

/** The revision in an object that is to be created. 0 also for an invalid resourceVersion, as in upstream's storage. */
export const revisionOfNew = (resourceVersion: string): number =>
  /^\d+$/.test(resourceVersion) && isOf64Bits(resourceVersion) ? Number(resourceVersion) : 0;

function isOf64Bits(digits: string): boolean {
  const significant = digits.replace(/^0+/, "");
  return significant.length <= 20 && BigInt(significant) < 2n ** 64n;
}

function noResourceVersion(sent: string, fault: string): ApiError {
  const shown = goQuoted(shortened(sent));
  const parsing = `strconv.ParseUint: parsing ${shown}: ${fault}`;
  return badRequest(`invalid resource version: resourceVersion: Invalid value: ${shown}: ${parsing}`);
}

interface TooLarge {
  readonly wanted: number;
  readonly current: number;
  /** Whether the answer says when to retry. In upstream, a list that is read from the storage does not say it. */
  readonly hasRetry: boolean;
}

/** The error for reading a revision that no write has reached (upstream: `storage.NewTooLargeResourceVersionError`). */
export const tooLargeResourceVersion = ({ wanted, current, hasRetry }: TooLarge): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      ...(hasRetry && { retryAfterSeconds: 1 }),
    },
  });
