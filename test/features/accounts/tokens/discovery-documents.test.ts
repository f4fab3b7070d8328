import assert from "node:assert/strict";
import { it } from "node:test";
import { discoveryDocuments } from "../../../../src/features/accounts/tokens/discovery-documents.ts";
import { parseTokenSigningKey } from "../../../../src/features/accounts/tokens/token-key.ts";
import { newKeyPem } from "./token-scene.ts";

const keys = [
  parseTokenSigningKey(newKeyPem.RS256()),
  parseTokenSigningKey(newKeyPem.ES256()),
  parseTokenSigningKey(newKeyPem.ES256()),
];
const keysUrl = "https://i.test/openid/v1/jwks";
const documents = discoveryDocuments({ issuer: "https://i.test", keysUrl, keys, cacheSeconds: 3600 });

it("the discovery document names issuer, keys and each algorithm once", () => {
  assert.deepEqual(JSON.parse(documents.configuration.body), {
    issuer: "https://i.test",
    jwks_uri: "https://i.test/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256", "RS256"],
  });
});

it("a key that is excluded from discovery is in neither document", () => {
  const [rsa, ...others] = keys;
  const hidden = discoveryDocuments({
    issuer: "https://i.test",
    keysUrl,
    keys: [...(rsa === undefined ? [] : [{ ...rsa, isUnpublished: true }]), ...others],
    cacheSeconds: 3600,
  });
  const { keys: published } = JSON.parse(hidden.keys.body) as { keys: Record<string, unknown>[] };
  assert.deepEqual(
    published.map((key) => key["kid"]),
    others.map((key) => key.kid),
  );
  const configuration = JSON.parse(hidden.configuration.body) as Record<string, unknown>;
  assert.deepEqual(configuration["id_token_signing_alg_values_supported"], ["ES256"]);
});

it("the key set holds public members only", () => {
  const { keys: published } = JSON.parse(documents.keys.body) as { keys: Record<string, unknown>[] };
  assert.deepEqual(
    published.map((key) => key["kid"]),
    keys.map((key) => key.kid),
  );
  for (const key of published) {
    assert.equal(key["use"], "sig");
    for (const secret of ["d", "p", "q", "dp", "dq", "qi", "k"]) assert.ok(!Object.hasOwn(key, secret));
  }
  assert.equal(documents.keys.cacheControl, "public, max-age=3600");
});
