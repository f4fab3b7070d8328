import { ApiError } from "../api/api-error.ts";

const maximumAttempts = 5;

/** Repeats a step after a 409, which means that another writer was faster: the step must read the object again. Throws the fifth 409. */
export async function retryOnConflict<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409) || attempt === maximumAttempts) throw error;
    }
  }
}
