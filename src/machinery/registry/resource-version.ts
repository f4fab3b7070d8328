import { ApiError, badRequest } from "../api/api-error.ts";

/** Parses a resourceVersion to a revision; "" becomes 0. Throws a 400 for a value that no server can have issued. */
export function parseResourceVersion(resourceVersion: string): number {
  if (resourceVersion === "") return 0;
  // Upstream's are unsigned integers of 64 bits.
  if (!/^\d{1,20}$/.test(resourceVersion) || Number(resourceVersion) >= 2 ** 64) {
    throw badRequest(
      `resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}: must be one that the server has given out`,
    );
  }
  return Number(resourceVersion);
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
