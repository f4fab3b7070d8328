import { ApiError } from "../api/api-error.ts";

/**
 * The answer to a request. Undefined when the server answers with one of these status codes: the object may not exist any more (404), or
 * another writer was faster (409). Rejects with every other error.
 */
export async function ignoreCodes<T>(codes: readonly number[], request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && codes.includes(error.code)) return undefined;
    throw error;
  }
}
