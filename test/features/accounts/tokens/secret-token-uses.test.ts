import assert from "node:assert/strict";
import { it } from "node:test";
import { SecretTokenUses } from "../../../../src/features/accounts/tokens/secret-token-uses.ts";
import type { FoundSecret } from "../../../../src/features/accounts/tokens/token-objects.ts";
import { namesFor } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { TestClock } from "./token-scene.ts";

const today = { "platform.io/legacy-token-last-used": "2026-01-01" };

/** Uses of tokens, with a server that answers every write with the same status. */
function usesScene(answer: { status: number } = { status: 200 }) {
  const clock = new TestClock();
  const written: string[] = [];
  const told: unknown[] = [];
  const client = new ApiClient({
    async send({ method, path, body }) {
      written.push(`${method} ${path} ${JSON.stringify(body)}`);
      const { status } = answer;
      const value =
        status === 200
          ? { kind: "Secret", apiVersion: "v1", metadata: {} }
          : { kind: "Status", apiVersion: "v1", status: "Failure", code: status, message: "the store is full" };
      return {
        status,
        headers: {},
        body: (async function* () {
          yield Buffer.from(JSON.stringify(value));
        })(),
      };
    },
    close() {},
  });
  const uses = new SecretTokenUses({
    names: namesFor("platform", { hasUpstreamNames: true }),
    clock,
    log: { error: (fields: unknown) => told.push(fields) },
    client: () => client,
  });
  const note = async (secret: Partial<FoundSecret> = {}, name = "t"): Promise<void> => {
    uses.note({ namespace: "ns", name, secret: { uid: "u", ...secret } });
    await uses.whenIdle();
  };
  return { answer, clock, written, told, note };
}

it("the date of a token's last use is written when the label has neither today nor tomorrow", async () => {
  const test = usesScene();
  await test.note();
  const expected = `PATCH /api/v1/namespaces/ns/secrets/t {"metadata":{"uid":"u","labels":${JSON.stringify(today)}}}`;
  assert.deepEqual(test.written, [expected]);
  for (const labels of [today, { "kubernetes.io/legacy-token-last-used": "2026-01-02" }]) {
    await test.note({ labels }, "noted");
  }
  assert.equal(test.written.length, 1);
  for (const date of ["2025-12-31", "2026-01-03", "", "never"]) {
    await test.note({ labels: { "platform.io/legacy-token-last-used": date } }, `with-${date}`);
  }
  assert.equal(test.written.length, 5);
});

it("the date of a token's last use is written in the spelling of the Secret's account", async () => {
  const test = usesScene();
  await test.note({ annotations: { "kubernetes.io/service-account.name": "bob" } });
  assert.match(test.written[0] ?? "", /"labels":\{"kubernetes\.io\/legacy-token-last-used":"2026-01-01"\}/);
});

it("the date of a token's last use is written once a day, and no more than once a minute", async () => {
  const test = usesScene();
  for (let use = 0; use < 100; use++) await test.note();
  assert.equal(test.written.length, 1);
  test.clock.passSeconds(86_400);
  await test.note({ labels: today });
  await test.note({ labels: today });
  assert.equal(test.written.length, 2);
  assert.match(test.written[1] ?? "", /"2026-01-02"/);
});

it("a failed write of the date of a token's last use is logged, and tried again at a use a minute later", async () => {
  const test = usesScene({ status: 507 });
  await test.note();
  await test.note();
  assert.deepEqual(test.told, [{ namespace: "ns", secret: "t", error: "the store is full" }]);
  test.clock.passSeconds(60);
  test.answer.status = 200;
  await test.note();
  assert.deepEqual([test.written.length, test.told.length], [2, 1]);
});

it("the date of a token's last use is written for a thousand Secrets a minute at most", async () => {
  const test = usesScene();
  for (let one = 0; one < 1010; one++) await test.note({}, `t${one}`);
  assert.equal(test.written.length, 1000);
  test.clock.passSeconds(60);
  await test.note({}, "t1009");
  assert.equal(test.written.length, 1001);
});

it("a failed write of the date of a token's last use is not logged when the Secret is gone or replaced", async () => {
  for (const status of [404, 409]) {
    const test = usesScene({ status });
    await test.note();
    assert.deepEqual([test.written.length, test.told.length], [1, 0]);
  }
});
