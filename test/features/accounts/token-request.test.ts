import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { answerTokenRequest, tokenSubresource } from "../../../src/features/accounts/token-request.ts";
import type { TokenRequestOptions } from "../../../src/features/accounts/token-request.ts";
import { apiAudience, TestObjects } from "./tokens/token-scene.ts";
import { answer, send } from "../review-scene.ts";

const group = "authentication.platform.io";
const at = { namespace: "ns", name: "bob" };
const bob = { name: "bob", uid: "bob-uid" };

/** Requests tokens of `ns/bob`. `issued` records the inputs of the issuer. */
function requests(overrides: Partial<TokenRequestOptions> = {}) {
  const objects = new TestObjects();
  objects.serviceAccounts.set("ns/bob", { uid: "bob-uid" });
  const issued: Parameters<TokenRequestOptions["issueToken"]>[] = [];
  const answers = answerTokenRequest({
    apiAudiences: [apiAudience],
    maximumExpirationSeconds: undefined,
    isExpirationExtended: false,
    maximumExtendedSeconds: undefined,
    findServiceAccount: (namespace, name) => objects.findServiceAccount(namespace, name),
    findPod: (namespace, name) => objects.findPod(namespace, name),
    findSecret: (namespace, name) => objects.findSecret(namespace, name),
    findNode: (name) => objects.findNode(name),
    issueToken: (...args) => {
      issued.push(args);
      return "jwt";
    },
    ...overrides,
  });
  const subresource = { ...tokenSubresource(platformNames), ...answers };
  return {
    objects,
    issued,
    of: (spec: object = {}, context: object = at) => answer(subresource, { spec }, context),
    send: (body: object, context: object = at) => send(subresource, body, context),
  };
}

const invalid = (message: string) => ({
  code: 422,
  message: `TokenRequest.${group} "" is invalid: ${message}`,
});

describe("a token request", () => {
  it("is filled with defaults, and answered with the account's metadata", async () => {
    const test = requests();
    const expected = {
      metadata: { name: "bob", namespace: "ns", uid: "bob-uid", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { audiences: [apiAudience], boundObjectRef: null, expirationSeconds: 3600 },
      status: { token: "jwt", expirationTimestamp: "2026-01-01T01:00:00Z" },
    };
    for (const spec of [{}, { audiences: [] }, { audiences: null, expirationSeconds: null, boundObjectRef: null }]) {
      assert.deepEqual(await test.of(spec), expected);
    }
    assert.deepEqual(test.issued[0], [
      { namespace: "ns", serviceAccount: { name: "bob", uid: "bob-uid" } },
      { audiences: [apiAudience], lifetimeSeconds: 3600 },
    ]);
    const { object } = await test.send({});
    assert.ok("status" in object);
  });

  it("is refused when its audiences make a token that is too long to be shown", async () => {
    const test = requests();
    const characters = 32 * 1024 - '["",""]'.length;
    await test.of({ audiences: ["", "a".repeat(characters)] });
    await assert.rejects(
      test.of({ audiences: ["", "a".repeat(characters + 1)] }),
      invalid("spec.audiences: Too long: may not be more than 32768 bytes"),
    );
    assert.equal(test.issued.length, 1);
  });

  it("may name the uid of its account, and is refused for one of another uid", async () => {
    const test = requests();
    await test.send({ metadata: { uid: "bob-uid" } });
    await assert.rejects(test.send({ metadata: { uid: "other" } }), {
      code: 409,
      message: /the UID in the token request \(other\) does not match the UID of the service account \(bob-uid\)/,
    });
    assert.equal(test.issued.length, 1);
  });

  it("keeps audiences as they are, including empty and repeated ones", async () => {
    const test = requests();
    const audiences = ["b", "a", "a", ""];
    assert.deepEqual(((await test.of({ audiences }))["spec"] as { audiences: string[] }).audiences, audiences);
    assert.deepEqual(test.issued[0]?.[1].audiences, audiences);
  });

  it("may ask for 600 to 2^32 seconds", async () => {
    const test = requests();
    for (const expirationSeconds of [600, 2 ** 32]) await test.of({ expirationSeconds });
    const tooShort = (value: number) =>
      invalid(`spec.expirationSeconds: Invalid value: ${value}: may not specify a duration less than 10 minutes`);
    for (const expirationSeconds of [599, 0, -1]) {
      await assert.rejects(test.of({ expirationSeconds }), tooShort(expirationSeconds));
    }
    await assert.rejects(
      test.of({ expirationSeconds: 2 ** 32 + 1 }),
      invalid("spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"),
    );
  });

  it("of a missing account is a 404, before its spec is validated", async () => {
    await assert.rejects(requests().of({ expirationSeconds: 1 }, { namespace: "ns", name: "absent" }), {
      code: 404,
      details: { name: "absent", kind: "serviceaccounts" },
    });
  });

  it("must name the account of the path, if it names one", async () => {
    const test = requests();
    await test.send({ metadata: { name: "bob", namespace: "ns" } });
    await assert.rejects(test.send({ metadata: { name: "eve" } }), {
      code: 422,
      message: `TokenRequest.${group} "bob" is invalid: metadata.name: Invalid value: "eve": must match the service account name if specified`,
    });
  });

  it("is shortened to the server's maximum, with a warning", async () => {
    const test = requests({ maximumExpirationSeconds: 7200 });
    assert.deepEqual((await test.send({ spec: { expirationSeconds: 7200 } })).warnings, []);
    const { object, warnings } = await test.send({ spec: { expirationSeconds: 7201 } });
    assert.deepEqual(warnings, ["requested expiration of 7201 seconds shortened to 7200 seconds"]);
    assert.equal((object as unknown as { spec: { expirationSeconds: number } }).spec.expirationSeconds, 7200);
    assert.equal(test.issued.at(-1)?.[1].lifetimeSeconds, 7200);
  });
});

describe("a bound object", () => {
  const bound = (test: ReturnType<typeof requests>, boundObjectRef: object) => test.of({ boundObjectRef });

  it("of a wrong kind, without kind or name, or with a name that no object has, is a 400", async () => {
    const test = requests();
    for (const [reference, message] of [
      [{ apiVersion: "v1", kind: "ConfigMap", name: "x" }, "cannot bind token to object of type /v1, Kind=ConfigMap"],
      [{ apiVersion: "apps/v1", kind: "Pod", name: "x" }, "cannot bind token to object of type apps/v1, Kind=Pod"],
      [{ apiVersion: "v1", name: "x" }, "cannot bind token to object of type /v1, Kind="],
      [{}, "cannot bind token to object of type /, Kind="],
      [{ apiVersion: "v1", kind: "Secret" }, "Name parameter required."],
      [{ apiVersion: "v1", kind: "Secret", name: "../b" }, `Name parameter invalid: "../b": may not contain '/'`],
    ] as const) {
      await assert.rejects(bound(test, reference), { code: 400, message });
    }
  });

  it("is checked after everything else", async () => {
    await assert.rejects(requests().of({ expirationSeconds: 1, boundObjectRef: { kind: "ConfigMap" } }), { code: 422 });
  });

  for (const kind of ["Secret", "Pod", "Node"]) {
    it(`of kind ${kind} must exist, under the uid if one is given`, async () => {
      const test = requests();
      const [resource, claim] = [`${kind.toLowerCase()}s`, kind.toLowerCase()];
      const reference = { kind, apiVersion: "v1", name: "x" };
      await assert.rejects(bound(test, reference), { code: 404, details: { name: "x", kind: resource } });
      test.objects.secrets.set("ns/x", { uid: "x-uid" });
      test.objects.pods.set("ns/x", { uid: "x-uid", serviceAccountName: "bob" });
      test.objects.nodes.set("x", { uid: "x-uid" });
      for (const one of [reference, { ...reference, uid: "x-uid" }, { kind, name: "x" }]) {
        assert.deepEqual(((await bound(test, one))["spec"] as { boundObjectRef: object }).boundObjectRef, one);
        assert.deepEqual(test.issued.at(-1)?.[0], {
          namespace: "ns",
          serviceAccount: { name: "bob", uid: "bob-uid" },
          [claim]: { name: "x", uid: "x-uid" },
        });
      }
      await assert.rejects(bound(test, { ...reference, uid: "other" }), {
        code: 409,
        details: { name: "x", kind },
        message: `Operation cannot be fulfilled on ${kind} "x": the UID in the bound object reference (other) does not match the UID in record. The object might have been deleted and then recreated`,
      });
    });
  }

  it("that is a Pod of another account is a 400", async () => {
    const test = requests();
    test.objects.pods.set("ns/x", { uid: "u", serviceAccountName: "eve" });
    await assert.rejects(bound(test, { kind: "Pod", name: "x" }), {
      code: 400,
      message: 'cannot bind token for serviceaccount "bob" to pod running with different serviceaccount name.',
    });
  });

  it("that is a Pod adds its node, with the uid if the node is registered", async () => {
    const test = requests();
    test.objects.pods.set("ns/x", { uid: "u", serviceAccountName: "bob", nodeName: "n1" });
    await bound(test, { kind: "Pod", name: "x" });
    assert.deepEqual(test.issued.at(-1)?.[0].node, { name: "n1" });
    test.objects.nodes.set("n1", { uid: "n1-uid" });
    await bound(test, { kind: "Pod", name: "x" });
    assert.deepEqual(test.issued.at(-1)?.[0].node, { name: "n1", uid: "n1-uid" });
    test.objects.pods.set("ns/x", { uid: "u", serviceAccountName: "bob", nodeName: "" });
    await bound(test, { kind: "Pod", name: "x" });
    assert.deepEqual(test.issued.at(-1)?.[0], { namespace: "ns", serviceAccount: bob, pod: { name: "x", uid: "u" } });
  });
});

describe("an extended lifetime", () => {
  const spec = { boundObjectRef: { kind: "Pod", name: "x" }, expirationSeconds: 3607 };
  const issued = async (overrides: object, isExpirationExtended = true, maximumExtendedSeconds?: number) => {
    const test = requests({ isExpirationExtended, maximumExtendedSeconds });
    test.objects.pods.set("ns/x", { uid: "u", serviceAccountName: "bob" });
    test.objects.secrets.set("ns/x", { uid: "u" });
    const answered = await test.of({ ...spec, ...overrides });
    return { terms: test.issued[0]?.[1], answered };
  };

  it("is a year with a time from which uses are warned of, while the answer shows the requested one", async () => {
    const { terms, answered } = await issued({});
    assert.deepEqual(terms, { audiences: [apiAudience], lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 });
    assert.deepEqual(answered["status"], { token: "jwt", expirationTimestamp: "2026-01-01T01:00:07Z" });
  });

  it("is at most the longest that the signer allows", async () => {
    for (const [maximum, lifetimeSeconds] of [
      [86_400, 86_400],
      [2 ** 32, 31_536_000],
    ] as const) {
      assert.equal((await issued({}, true, maximum)).terms?.lifetimeSeconds, lifetimeSeconds);
    }
  });

  it("requires the option, a Pod, exactly 3607 seconds and only audiences of the API", async () => {
    for (const [overrides, isOn] of [
      [{}, false],
      [{ boundObjectRef: { kind: "Secret", name: "x" } }, true],
      [{ boundObjectRef: null }, true],
      [{ expirationSeconds: 3606 }, true],
      [{ audiences: [apiAudience, "vault"] }, true],
    ] as const) {
      assert.equal((await issued(overrides, isOn)).terms?.warnAfterSeconds, undefined, JSON.stringify(overrides));
    }
  });
});
