import assert from "node:assert/strict";
import { it } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import {
  createSecretTokenIssuer,
  createSecretTokenVerifier,
} from "../../../../src/features/accounts/tokens/secret-tokens.ts";
import { apiAudience, fixedTokenKeys, forge, newKeyPem, scene } from "./token-scene.ts";

const subject = { namespace: "ns", secretName: "t", serviceAccountName: "bob", serviceAccountUid: "bob-uid" };

function secretScene() {
  const test = scene();
  const token = createSecretTokenIssuer(fixedTokenKeys(test.key), platformNames)(subject);
  if (typeof token !== "string") throw new TypeError("a key that is at hand signs at once");
  const uses: string[] = [];
  const verifySecretToken = createSecretTokenVerifier({
    names: platformNames,
    keys: fixedTokenKeys(test.key),
    apiAudiences: [apiAudience],
    objects: test.objects,
    onUse: ({ namespace, name }) => uses.push(`${namespace}/${name}`),
  });
  return {
    ...test,
    token,
    uses,
    verifySecretToken,
    outcome: (audience = apiAudience) => verifySecretToken(token, { audiences: [audience] }),
  };
}

it("a token in a Secret is valid for the API audiences while the Secret has it", () => {
  const test = secretScene();
  assert.equal(test.outcome().outcome, "refused");
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token });
  assert.equal(test.outcome().outcome, "authenticated");
  assert.equal(test.outcome("vault").outcome, "refused");
  test.objects.secrets.set("ns/t", { uid: "s", token: `${test.token}x` });
  assert.deepEqual(test.outcome(), { outcome: "refused", message: "Token does not match server's copy" });
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token, deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(test.outcome(), { outcome: "refused", message: "Token has been invalidated" });
});

it("a token in a Secret is refused when another key has signed it: who writes Secrets makes no tokens", () => {
  const test = secretScene();
  const payload = {
    iss: "platform/serviceaccount",
    sub: "system:serviceaccount:ns:bob",
    "platform.io/serviceaccount/namespace": "ns",
    "platform.io/serviceaccount/secret.name": "t",
    "platform.io/serviceaccount/service-account.name": "bob",
    "platform.io/serviceaccount/service-account.uid": "bob-uid",
  };
  const outcomeOf = (pem: string, claims: object): ReturnType<typeof test.outcome> => {
    const token = forge(pem, { header: { alg: "ES256" }, payload: claims });
    test.objects.secrets.set("ns/t", { uid: "s", token });
    return test.verifySecretToken(token, { audiences: [apiAudience] });
  };
  assert.equal(outcomeOf(test.pem, payload).outcome, "authenticated");
  assert.equal(outcomeOf(newKeyPem.ES256(), payload).outcome, "refused");
  assert.equal(outcomeOf(test.pem, { ...payload, iss: "https://a.example" }).outcome, "notApplicable");
});

it("a token in a Secret is refused while the Secret is marked invalid", () => {
  const test = secretScene();
  const labels = { "platform.io/legacy-token-invalid-since": "2026-11-24" };
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token, labels });
  assert.deepEqual(test.outcome(), {
    outcome: "refused",
    message:
      "the token in secret ns/t for service account ns/bob has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the 'platform.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token",
  });
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token, labels: {} });
  assert.equal(test.outcome().outcome, "authenticated");
});

it("a token in a Secret counts as used when it is valid, or only its Secret is marked invalid", () => {
  const test = secretScene();
  test.outcome();
  test.objects.secrets.set("ns/t", { uid: "s", token: "another" });
  test.outcome();
  assert.deepEqual(test.uses, []);
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token });
  test.outcome();
  const labels = { "platform.io/legacy-token-invalid-since": "2026-11-24" };
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token, labels });
  test.outcome();
  assert.deepEqual(test.uses, ["ns/t", "ns/t"]);
});

it("a token in a Secret is refused when its account is gone", () => {
  const test = secretScene();
  test.objects.secrets.set("ns/t", { uid: "s", token: test.token });
  const message = (): string => {
    const outcome = test.outcome();
    return outcome.outcome === "refused" ? outcome.message : outcome.outcome;
  };
  test.objects.serviceAccounts.set("ns/bob", { uid: "another" });
  assert.equal(message(), "ServiceAccount UID (another) does not match claim (bob-uid)");
  test.objects.serviceAccounts.set("ns/bob", { uid: "bob-uid", deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.equal(message(), "ServiceAccount ns/bob has been deleted");
  test.objects.serviceAccounts.delete("ns/bob");
  assert.equal(message(), 'serviceaccounts "bob" not found');
});

it("a token in a Secret is refused in upstream's words when its key or a claim is missing", () => {
  const test = secretScene();
  const message = (payload: object, header: object = {}): string => {
    const outcome = test.verifySecretToken(
      forge(test.pem, { header: { alg: "ES256", ...header }, payload: { iss: "platform/serviceaccount", ...payload } }),
      { audiences: [apiAudience] },
    );
    return outcome.outcome === "refused" ? outcome.message : outcome.outcome;
  };
  const claims: Record<string, string> = {};
  assert.equal(message(claims, { kid: "another" }), "invalid signature, no keys found");
  const inOrder = [
    ["sub", "sub", "system:serviceaccount:ns:alice"],
    ["namespace", "platform.io/serviceaccount/namespace", "ns"],
    ["secretName", "platform.io/serviceaccount/secret.name", "t"],
    ["serviceAccountName", "platform.io/serviceaccount/service-account.name", "bob"],
    ["serviceAccountUID", "platform.io/serviceaccount/service-account.uid", "bob-uid"],
  ] as const;
  for (const [shown, claim, value] of inOrder) {
    assert.equal(message(claims), `${shown} claim is missing`);
    claims[claim] = value;
  }
  assert.equal(message(claims), "sub claim is invalid");
  claims["sub"] = "system:serviceaccount:ns:bob";
  assert.equal(message(claims), "Token has been invalidated");
});

it("a token of a Secret is not accepted as a token of TokenRequest, nor the reverse", () => {
  const test = secretScene();
  assert.equal(test.verify(test.token, { audiences: [apiAudience] }).outcome, "notApplicable");
});
