import { ApiError } from "../api/api-error.ts";

/** The answer to a request, or undefined when it is an error with one of these codes. */
export async function unlessAnswered<T>(codes: readonly number[], request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && codes.includes(error.code)) return undefined;
    throw error;
  }
}
