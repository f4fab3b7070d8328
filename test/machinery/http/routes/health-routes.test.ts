import assert from "node:assert/strict";
import { it } from "node:test";
import { healthRoutes } from "../../../../src/machinery/http/routes/health-routes.ts";
import { request } from "../../../features/access/certificate-scene.ts";

it("a health check that fails is reported once, and not for each of a thousand callers", async () => {
  const reported: string[] = [];
  const fails = (name: string) => ({ name, check: () => Promise.reject(new Error(`${name} is away`)) });
  const routes = healthRoutes({
    checks: [fails("kms"), fails("store"), { name: "well", check: () => {} }],
    onFailure: ({ check, failures, error }) => reported.push(`${check} ${failures} ${String(error)}`),
    onResult: () => {},
  });
  for (let index = 0; index < 1000; index++) {
    assert.equal((await routes.get("/readyz")?.handle(request()))?.status, 500);
    assert.equal((await routes.get("/livez/kms")?.handle(request()))?.status, 500);
  }
  assert.deepEqual(reported, ["kms 1 Error: kms is away", "store 1 Error: store is away"]);
});
