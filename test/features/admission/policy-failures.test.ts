import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ForgetfulStore } from "../../machinery/registry/forgetful-store.ts";
import { everyKey } from "../../../src/machinery/storage/key-range.ts";
import { LongWork } from "../../../src/machinery/scheduling/long-work.ts";
import { cpuSecondsOf } from "../../cpu-seconds-of.ts";
import { configMap, matching, policyOf, PolicyScene } from "./policy-scene.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

describe("a policy in force whose evaluation goes wrong", () => {
  const store = new MemoryStore();
  let scene: PolicyScene;
  before(async () => void (scene = await PolicyScene.start({ store })));
  afterEach(() => scene.clear());
  after(() => scene.stop());

  it("fails or is ignored, as failurePolicy says, when an expression cannot be evaluated", async () => {
    const spec = {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "object.data.missing == 'x'" }],
    };
    await scene.policy("fails", spec);
    const failed = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    assert.match(
      failed.message,
      /denied request: expression 'object.data.missing == 'x'' resulted in error: no such key: data$/,
    );
    await scene.clear();
    await scene.policy("fails", {
      ...spec,
      variables: [
        { name: "missing", expression: "object.data.missing" },
        { name: "other", expression: "variables.missing + 'y'" },
      ],
      validations: [{ expression: "variables.other != 'x'" }],
    });
    const ofVariables = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    assert.match(
      ofVariables.message,
      /error: composited variable "other" fails to evaluate: composited variable "missing" fails to evaluate: no such key: data$/,
    );
    await scene.clear();
    await scene.policy("ignores", { ...spec, failurePolicy: "Ignore" });
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"))).status, 201);
  });

  it("fails or is ignored, as failurePolicy says, when what another version has stored cannot be compiled", async () => {
    const outcome = async (failurePolicy: string): Promise<string> => {
      await scene.policy("stored", {
        failurePolicy,
        matchConstraints: matching(["configmaps"]),
        validations: [{ expression: "true" }],
      });
      const { entries } = await store.range(everyKey);
      const { key, value, modRevision } =
        entries.find((one) => one.value.includes('"expression":"true"')) ?? assert.fail();
      const broken = Buffer.from(value.toString().replace('"true"', '"true +"'));
      assert.ok((await store.write({ key, value: broken, expectedRevision: modRevision })).isWritten);
      const { status, message } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
      await scene.clear();
      return status === 201 ? "passes" : message;
    };
    assert.match(await outcome("Fail"), /'stored' denied request: failed to configure policy: spec\.validations\[0\]/);
    assert.equal(await outcome("Ignore"), "passes");
  });

  it("cannot block the server: a write that would take too many steps is refused, whatever the policy says", async () => {
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]));
    const spec = (failurePolicy: string) => ({
      failurePolicy,
      matchConstraints: matching(["configmaps"]),
      validations: [
        { expression: "object.data.all(a, object.data.all(b, a != b || object.data[a] == object.data[b]))" },
      ],
    });
    await scene.policy("slow", spec("Fail"));
    const refused = await scene.send("POST", configMaps, configMap("big", { data }));
    assert.match(refused.message, /denied request: validation failed due to running out of cost budget/);
    await scene.clear();
    for (const name of ["a", "b", "c", "d"]) await scene.policy(name, spec("Ignore"));
    const seconds = await cpuSecondsOf(async () => {
      const many = await scene.send("POST", configMaps, configMap("big", { data }));
      assert.equal(many.message, 'configmaps "big" is forbidden: its admission policies take too long');
    });
    assert.ok(seconds < 10, `${seconds} seconds`);
    await scene.clear();
    const doubled = (letter: string) =>
      Array.from({ length: 41 }, (_, index) => ({
        name: `${letter}${index}`,
        expression: index === 0 ? "[1]" : `[variables.${letter}${index - 1}, variables.${letter}${index - 1}]`,
      }));
    await scene.policy("doubled", {
      ...spec("Fail"),
      variables: [...doubled("a"), ...doubled("b")],
      validations: [{ expression: "variables.a40 == variables.b40" }],
    });
    const compared = await scene.send("POST", configMaps, configMap("small"));
    assert.match(compared.message, /running out of cost budget/);
  });

  it("lets others have a turn after each evaluation that has taken long", async (t) => {
    const pauses = new Map<LongWork, number>();
    t.mock.method(LongWork.prototype, "pause", function pause(this: LongWork) {
      pauses.set(this, (pauses.get(this) ?? 0) + 1);
    });
    for (const name of ["a", "b", "c", "d", "e", "f", "g"]) {
      await scene.policy(name, { matchConstraints: matching(["configmaps"]), validations: [{ expression: "true" }] });
    }
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("any"))).status, 201);
    assert.ok([...pauses.values()].includes(7), "one for each policy");
  });

  it("ends as soon as a write has had too many steps, however many params and bindings a policy has", async () => {
    for (const name of ["p1", "p2", "p3", "p4", "p5", "p6"]) {
      const metadata = { labels: { limits: "yes" } };
      assert.equal((await scene.send("POST", configMaps, configMap(name, { metadata }))).status, 201);
    }
    const binding = {
      paramRef: { selector: { matchLabels: { limits: "yes" } }, parameterNotFoundAction: "Deny" },
      validationActions: ["Warn"],
    };
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "object.data.all(a, object.data.all(b, a + b != params.metadata.name))" }],
    };
    await scene.policy("twice", spec, binding);
    await scene.bind("again", { policyName: "twice", ...binding });
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]));
    const refused = await scene.send("POST", configMaps, configMap("big", { data }));
    assert.equal(refused.message, 'configmaps "big" is forbidden: its admission policies take too long');
    // Each evaluation but the last, which is one too many, has warned.
    assert.equal(refused.warnings.length, 1);
    assert.match(refused.warnings[0] ?? "", /running out of cost budget/);
    await scene.send("DELETE", `${configMaps}?labelSelector=limits`);
  });
});

describe("a policy with an expression that cannot be compiled", () => {
  it("is refused, whatever writes it", async (t) => {
    const scene = await PolicyScene.start();
    t.after(() => scene.stop());
    const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    const policy = (name: string, expression: string) =>
      policyOf(name, { matchConstraints: matching(["configmaps"]), validations: [{ expression }] });
    const created = await scene.send("POST", policies, policy("known", "true"));
    assert.equal(created.status, 201);
    const refused = async (method: string, below: string, body: object, type = ""): Promise<void> => {
      const { code, message } = await scene.send(method, policies + below, body, { type });
      assert.equal(code, 422, message);
      assert.match(message, /spec\.validations\[0\]\.expression: Invalid value: .*compilation failed/s);
    };
    const [fresh, changed] = [policy("new", "object."), policy("known", "object.")];
    const apply = "application/apply-patch+yaml";
    await refused("POST", "", fresh);
    await refused("PATCH", "/new?fieldManager=f", fresh, apply);
    await refused("PUT", "/known", { ...changed, metadata: created.body["metadata"] });
    await refused("PATCH", "/known", changed, "application/merge-patch+json");
    await refused("PATCH", "/known?fieldManager=f&force=true", changed, apply);
  });
});

describe("a policy in force that can't be read any more", () => {
  const store = new ForgetfulStore();
  let scene: PolicyScene;
  before(async () => void (scene = await PolicyScene.start({ store })));
  after(() => scene.stop());

  it("continues to refuse writes when the server has to load all policies again", async () => {
    await scene.policy("never", { matchConstraints: matching(["configmaps"]), validations: [{ expression: "false" }] });
    const { entries } = await store.range(everyKey);
    const keys = entries.map(({ key }) => key).filter((key) => key.includes("validatingadmission"));
    assert.equal(keys.length, 2);
    for (const key of keys) store.unreadable.add(key);
    await store.forget(async () => {});
    assert.equal((await scene.send("GET", configMaps)).status, 200);
    assert.equal((await scene.send("POST", configMaps, configMap("a"))).code, 422);
  });
});
