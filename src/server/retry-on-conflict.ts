import { ApiError } from "../machinery/api/api-error.ts";

const maximumAttempts = 5;

/** Repeats a startup step after a 409: another process that starts at the same time did a part of it first. */
export async function retryOnConflict(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409) || attempt === maximumAttempts) throw error;
    }
  }
}
