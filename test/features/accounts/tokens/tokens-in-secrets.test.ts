import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { AdmissionRule } from "../../../../src/machinery/api/attributes.ts";
import type { ObjectMeta } from "../../../../src/machinery/api/object-meta.ts";
import { namesFor } from "../../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { waitForObject } from "../../../wait-for-object.ts";
import { InProcess } from "../../../server/in-process.ts";

const { secrets } = resourceReferences(namesFor("platform"));
const namespace = "/api/v1/namespaces/default";

describe("the token in a Secret", () => {
  const lastUsed = "platform.io/legacy-token-last-used";
  let isFull = true;
  let time = Date.parse("2026-11-24T12:00:00Z");
  /** As a store that is full or read-only. */
  const refuseLastUsed: AdmissionRule = {
    name: "Full",
    validate({ object }) {
      if (isFull && object?.metadata.labels?.[lastUsed] !== undefined) throw new Error("the store is full");
    },
  };
  let server: TestServer;
  let api: InProcess;
  let token: string;
  before(async () => {
    server = await startTestServer({ admission: [refuseLastUsed], clock: { now: () => time } });
    api = new InProcess(server);
    await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: { metadata: { name: "old" } } });
    const body = {
      metadata: { name: "old-token", annotations: { "platform.io/service-account.name": "old" } },
      type: "platform.io/service-account-token",
    };
    await api.json(`${namespace}/secrets`, { method: "POST", body });
    const filled = await waitForObject(
      server.client,
      secrets,
      { namespace: "default", name: "old-token" },
      (secret) => secret?.data?.["token"] !== undefined,
    );
    token = Buffer.from(filled?.data?.["token"] ?? "", "base64").toString();
  });

  const status = async (): Promise<number> => (await api.send(namespace, { token })).status;
  const tokenReviews = "/apis/authentication.platform.io/v1/tokenreviews";
  const review = async (): Promise<string> => {
    const body = { spec: { token } };
    const { status: found } = await api.json<{ status: { error?: string; authenticated?: boolean } }>(tokenReviews, {
      method: "POST",
      body,
    });
    return found.authenticated === true ? "authenticated" : (found.error ?? "");
  };
  const label = (name: string, value: string | null): Promise<unknown> =>
    api.json(`${namespace}/secrets/old-token`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels: { [name]: value } } },
    });

  for (const domain of ["platform.io", "kubernetes.io"]) {
    it(`is refused while its Secret is marked invalid with ${domain}`, async () => {
      const invalidSince = `${domain}/legacy-token-invalid-since`;
      assert.deepEqual([await status(), await review()], [403, "authenticated"]);
      await label(invalidSince, "2026-11-24");
      assert.equal(await status(), 401);
      assert.match(await review(), new RegExp(`has been marked invalid.* remove the '${invalidSince}' label`));
      await label(invalidSince, null);
      assert.deepEqual([await status(), await review()], [403, "authenticated"]);
    });
  }

  it("is accepted even when the date of its last use cannot be written", async () => {
    const secret = await api.json<{ metadata: { labels?: object } }>(`${namespace}/secrets/old-token`);
    assert.equal(secret.metadata.labels, undefined);
    assert.deepEqual([await status(), await review()], [403, "authenticated"]);
  });

  it("labels its Secret with the date of its last use", async () => {
    isFull = false;
    time += 60_000;
    assert.equal(await status(), 403);
    const where = { namespace: "default", name: "old-token" };
    const isLabelled = (secret: { metadata: ObjectMeta } | undefined): boolean =>
      secret?.metadata.labels?.[lastUsed] !== undefined;
    const labelled = await waitForObject(server.client, secrets, where, isLabelled);
    assert.deepEqual(labelled?.metadata.labels, { [lastUsed]: new Date(time).toISOString().slice(0, 10) });
    time += 120_000;
    assert.equal(await status(), 403);
    const after = await server.client.resource(secrets, "default").get("old-token");
    assert.equal(after.metadata.resourceVersion, labelled?.metadata.resourceVersion);
  });

  it("adds a warning to every answer and review while its account lists the Secret as generated", async () => {
    const warnings = async (): Promise<unknown> => {
      const answers = await Promise.all([
        api.send(namespace, { token }),
        api.send(tokenReviews, { method: "POST", body: { spec: { token } } }),
      ]);
      const [warned, reviewed] = answers.map(({ headers }) => headers["warning"]);
      assert.deepEqual(reviewed, warned);
      return warned;
    };
    const patch = (secretsOfAccount: readonly object[]): Promise<unknown> =>
      api.json(`${namespace}/serviceaccounts/old`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { secrets: secretsOfAccount },
      });
    await patch([{ name: "another" }]);
    assert.equal(await warnings(), undefined);
    await patch([{ name: "another" }, { name: "old-token" }]);
    assert.deepEqual(await warnings(), [
      '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens."',
    ]);
    assert.equal((await api.send(namespace)).headers["warning"], undefined);
  });

  it("ends with its Secret", async () => {
    await api.send(`${namespace}/secrets/old-token`, { method: "DELETE" });
    assert.deepEqual([await status(), await review()], [401, "[invalid bearer token, Token has been invalidated]"]);
  });
});
