import assert from "node:assert/strict";
import { test } from "node:test";
import { publicFolder, publicPaths } from "../../../src/machinery/authorization/authorizer.ts";

const nobody = { username: "system:anonymous", groups: [], extra: {} };

test("a public path may be read by everyone, and nothing else of it or beside it", () => {
  const authorize = publicPaths(["/openid/v1/jwks"]);
  const decide = (verb: string, path: string) => authorize({ kind: "path", user: nobody, verb, path }).decision;
  assert.equal(decide("get", "/openid/v1/jwks"), "allow");
  assert.equal(decide("post", "/openid/v1/jwks"), "noOpinion");
  assert.equal(decide("get", "/openid/v1"), "noOpinion");
});

test("what is below a public folder may be read and posted to by everyone, and nothing else of it or beside it", () => {
  const authorize = publicFolder("/pki/");
  const decide = (verb: string, path: string) => authorize({ kind: "path", user: nobody, verb, path }).decision;
  for (const verb of ["get", "head", "post"]) assert.equal(decide(verb, "/pki/one.crl"), "allow", verb);
  for (const verb of ["put", "patch", "delete"]) assert.equal(decide(verb, "/pki/one.crl"), "noOpinion", verb);
  assert.equal(decide("get", "/metrics"), "noOpinion");
});
