import assert from "node:assert/strict";
import { test } from "node:test";
import { publicPaths } from "../../../src/machinery/authorization/authorizer.ts";

const nobody = { username: "system:anonymous", groups: [], extra: {} };

test("a public path may be read by everyone, and nothing else of it or beside it", () => {
  const authorize = publicPaths(["/openid/v1/jwks"]);
  const decide = (verb: string, path: string) => authorize({ kind: "path", user: nobody, verb, path }).decision;
  assert.equal(decide("get", "/openid/v1/jwks"), "allow");
  assert.equal(decide("post", "/openid/v1/jwks"), "noOpinion");
  assert.equal(decide("get", "/openid/v1"), "noOpinion");
});
