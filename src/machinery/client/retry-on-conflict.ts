import { ApiError } from "../api/api-error.ts";

const maximumAttempts = 5;

/** Repeats a step after a 409: somebody else wrote first, and the step looks at what is there now. Throws the fifth 409. */
export async function retryOnConflict<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409) || attempt === maximumAttempts) throw error;
    }
  }
}
