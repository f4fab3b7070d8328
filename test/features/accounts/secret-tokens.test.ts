import assert from "node:assert/strict";
import { it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import {
  createSecretTokenIssuer,
  createSecretTokenVerifier,
} from "../../../src/features/accounts/tokens/secret-tokens.ts";
import { apiAudience, fixedTokenKeys, scene } from "./token-scene.ts";

const subject = { namespace: "ns", secretName: "t", serviceAccountName: "bob", serviceAccountUid: "bob-uid" };

function secretScene() {
  const test = scene();
  const token = createSecretTokenIssuer(fixedTokenKeys(test.key), platformNames)(subject);
  if (typeof token !== "string") throw new TypeError("a key that is at hand signs at once");
  const verify = createSecretTokenVerifier({
    names: platformNames,
    keys: fixedTokenKeys(test.key),
    apiAudiences: [apiAudience],
    objects: test.objects,
  });
  return { ...test, token, outcome: (audience = apiAudience) => verify(token, [audience]) };
}

it("a token that a Secret holds is good for the API audiences while the Secret holds it", () => {
  const test = secretScene();
  assert.equal(test.outcome().outcome, "refused");
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token });
  assert.equal(test.outcome().outcome, "authenticated");
  assert.equal(test.outcome("vault").outcome, "refused");
  test.objects.secrets.set("ns/t", { uid: "s", token: `${test.token}x` });
  assert.deepEqual(test.outcome(), { outcome: "refused", message: "token does not match server's copy" });
});

it("a token that a Secret holds ends with its account", () => {
  const test = secretScene();
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token });
  test.objects.serviceAccounts.set("ns/bob", { uid: "another" });
  assert.equal(test.outcome().outcome, "refused");
});

it("a token of a Secret is not accepted as a token of TokenRequest, nor the reverse", () => {
  const test = secretScene();
  assert.equal(test.verify(test.token, [apiAudience]).outcome, "notApplicable");
});
