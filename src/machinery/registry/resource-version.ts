import { ApiError, badRequest } from "../api/api-error.ts";

/** The revision that a resourceVersion names; "" is 0: none. Throws a 400 for what no server has given out. */
export function parseResourceVersion(resourceVersion: string): number {
  if (resourceVersion === "") return 0;
  if (!/^\d{1,20}$/.test(resourceVersion)) {
    throw badRequest(
      `resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}: must be one that the server has given out`,
    );
  }
  return Number(resourceVersion);
}

/** A read of a revision that no write has reached (upstream: `storage.NewTooLargeResourceVersionError`). */
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
