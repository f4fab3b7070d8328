import { ApiError, badRequest } from "../api/api-error.ts";
import { goQuoted, shortened } from "../api/format-value.ts";

/** Parses a resourceVersion to a revision; "" becomes 0. Throws a 400 for a value that no server can have issued. */
export function parseResourceVersion(resourceVersion: string): number {
  if (resourceVersion === "") return 0;
  // Upstream's are unsigned integers of 64 bits.
  if (!/^\d+$/.test(resourceVersion)) throw noResourceVersion(resourceVersion, "invalid syntax");
  if (Number(resourceVersion) >= 2 ** 64) throw noResourceVersion(resourceVersion, "value out of range");
  return Number(resourceVersion);
}

function noResourceVersion(sent: string, fault: string): ApiError {
  const shown = goQuoted(shortened(sent));
  const parsing = `strconv.ParseUint: parsing ${shown}: ${fault}`;
  return badRequest(`invalid resource version: resourceVersion: Invalid value: ${shown}: ${parsing}`);
}

/** The error for reading a revision that no write has reached (upstream: `storage.NewTooLargeResourceVersionError`). */
export const tooLargeResourceVersion = ({
  wanted,
  current,
}: {
  readonly wanted: number;
  readonly current: number;
}): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    retryAfterSeconds: 1,
  });
