import type { ApiClient } from "../src/machinery/client/api-client.ts";

interface SeenUser {
  readonly username: string;
  readonly groups: readonly string[];
}

/** The user whom a server authenticates a client as. Rejects as the client does. */
export async function userOf(client: ApiClient): Promise<SeenUser> {
  const { status } = await client.request<{ readonly status: { readonly userInfo: SeenUser } }>(
    "/apis/authentication.platform.io/v1/selfsubjectreviews",
    { method: "POST", body: { apiVersion: "authentication.platform.io/v1", kind: "SelfSubjectReview" } },
  );
  return status.userInfo;
}
