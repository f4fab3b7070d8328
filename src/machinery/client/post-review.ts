import type { ApiClient } from "./api-client.ts";

interface SentReview {
  readonly group: string;
  /** The plural must be the kind in lower case, with an s. */
  readonly kind: string;
  readonly spec?: object;
}

/** Sends a review (version v1), which the server answers and does not store. `T`: the parts of the answer that the caller reads. */
export const postReview = <T>(client: ApiClient, { group, kind, spec }: SentReview): Promise<T> =>
  client.request(`/apis/${group}/v1/${kind.toLowerCase()}s`, {
    method: "POST",
    kinds: [kind],
    body: { apiVersion: `${group}/v1`, kind, ...(spec !== undefined && { spec }) },
  });
