import { after, before } from "node:test";
import { ApiRequester } from "../../profiles/api-request.ts";
import type { ApiAnswer, ApiRequest } from "../../profiles/api-request.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";

export const objects = "/api/v1/namespaces/default";

let requester: ApiRequester;
before(async () => {
  requester = await ApiRequester.toNewServer({ profile: "kubernetes" });
  await waitForDefaultAccount(requester.server);
});
after(() => requester.stop());

/** A server with upstream's names, which runs while the tests of a file run. */
export const api = {
  send: (request: ApiRequest): Promise<ApiAnswer> => requester.send(request),
};

/** The status and the body. */
export async function answer(request: ApiRequest): Promise<readonly [number, ReturnType<typeof JSON.parse>]> {
  const answered = await api.send(request);
  return [answered.status, answered.json()];
}
