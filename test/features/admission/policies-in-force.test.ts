import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { configMap, matching, PolicyScene } from "./policy-scene.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const testRequest = Buffer.from(
  createCertificateRequestPem({
    privateKey: generatePrivateKey("ECDSA P-256"),
    subject: { commonName: "r", organizations: [] },
    subjectAltNames: noSubjectAltNames,
  }),
).toString("base64");

describe("a policy in force", () => {
  const store = new MemoryStore();
  let scene: PolicyScene;
  const auditFile = join(mkdtempSync(join(tmpdir(), "signet-audit-")), "audit.log");
  before(async () => {
    scene = await PolicyScene.start({ store, settings: { controllers: false, "audit-log-path": auditFile } });
  });
  afterEach(() => scene.clear());
  after(async () => {
    await scene.stop();
    const lines = readFileSync(auditFile, "utf8");
    rmSync(dirname(auditFile), { recursive: true });
    const annotations = [...lines.matchAll(/"annotated\/who":"[^"]*"/g)].map(([text]) => text);
    const longest = `x${"\u{1f600}".repeat((10 * 1024) / 4 - 1)}`;
    assert.deepEqual(annotations, ['"annotated/who":"root writes"', `"annotated/who":"${longest}"`]);
    const [cut = "", ...others] = lines.split("\n").filter((line) => line.includes('"long0/long0":'));
    assert.deepEqual(others, []);
    assert.ok(cut.length > 255 * 1024 && cut.length < 265 * 1024, String(cut.length));
    assert.ok(cut.includes('"audit.k8s.io/truncated":"true"'));
    const failures = [
      ...lines.matchAll(/"validation.policy.admission.k8s.io\/validation_failure":("(?:[^"\\]|\\.)*")/g),
    ]
      .map(([, text = ""]) => JSON.parse(JSON.parse(text) as string) as { message: string; policy: string }[])
      .map((list) => list.map(({ policy, message }) => `${policy}: ${message.slice(0, 20)}`));
    const many = Array.from({ length: 15 }, (_, index) => `many: ${index} ${"x".repeat(20)}`.slice(0, 26));
    assert.deepEqual(failures, [
      ["soft: never", "softer: never", "softer: failed expression: 1"],
      many,
      ["gone: one", "gone: never", "gone: two"],
    ]);
  });

  it("refuses writes with upstream's message, and lets others pass", async () => {
    await scene.policy("owner", {
      matchConstraints: matching(["configmaps"]),
      validations: [
        { expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: "say whose it is" },
      ],
    });
    const refused = await scene.send("POST", configMaps, configMap("a"));
    assert.deepEqual([refused.code, refused.reason], [422, "Invalid"]);
    const sentence = "ValidatingAdmissionPolicy 'owner' with binding 'owner' denied request: say whose it is";
    assert.equal(refused.message, `configmaps "a" is forbidden: ${sentence}`);
    assert.deepEqual(refused.body["details"], { name: "a", kind: "configmaps", causes: [{ message: sentence }] });
    const labelled = await scene.send("POST", configMaps, configMap("a", { metadata: { labels: { owner: "ada" } } }));
    assert.equal(labelled.status, 201);
    assert.equal((await scene.send("GET", `${configMaps}/a`)).status, 200);
  });

  it("is evaluated for every way to write", async () => {
    await scene.send("POST", configMaps, configMap("fixed", { metadata: { labels: { a: "b" } } }));
    await scene.send("POST", accounts, { metadata: { name: "default" } });
    await scene.policy("nothing", {
      matchConstraints: matching(["configmaps", "serviceaccounts/token"]),
      validations: [
        {
          expression: "request.name != 'fixed' && request.subResource != 'token'",
          messageExpression: "request.operation + ' refused'",
        },
      ],
    });
    const patch = { metadata: { labels: { x: "y" } } };
    const ways: readonly (readonly [method: string, path: string, body: unknown, type: string, operation: string])[] = [
      ["PUT", `${configMaps}/fixed`, configMap("fixed"), "application/json", "UPDATE"],
      ["PATCH", `${configMaps}/fixed`, patch, "application/merge-patch+json", "UPDATE"],
      ["PATCH", `${configMaps}/fixed`, patch, "application/strategic-merge-patch+json", "UPDATE"],
      [
        "PATCH",
        `${configMaps}/fixed?fieldManager=me&force=true`,
        configMap("fixed", { data: { a: "b" } }),
        "application/apply-patch+yaml",
        "UPDATE",
      ],
      [
        "PATCH",
        `${configMaps}/fixed`,
        [{ op: "add", path: "/data", value: { a: "b" } }],
        "application/json-patch+json",
        "UPDATE",
      ],
      ["PUT", `${configMaps}/fixed?dryRun=All`, configMap("fixed"), "application/json", "UPDATE"],
      ["DELETE", `${configMaps}/fixed`, undefined, "", "DELETE"],
      ["DELETE", `${configMaps}?labelSelector=a%3Db`, undefined, "", "DELETE"],
      [
        "POST",
        `${accounts}/default/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: ["a"] } },
        "application/json",
        "CREATE",
      ],
    ];
    for (const [method, path, body, type, operation] of ways) {
      const answer = await scene.send(method, path, body, { type });
      assert.equal(answer.code, 422, `${method} ${path} ${type}: ${answer.message}`);
      assert.match(answer.message, new RegExp(`denied request: ${operation} refused$`));
    }
    await scene.clear();
    await scene.policy("creation", {
      matchConstraints: matching(["configmaps"], { operations: ["CREATE"] }),
      validations: [{ expression: "object.metadata.name != 'new' && oldObject == null" }],
    });
    for (const answer of [
      await scene.send("POST", configMaps, configMap("new")),
      await scene.send("POST", `${configMaps}?dryRun=All`, configMap("new")),
      await scene.send("PATCH", `${configMaps}/new?fieldManager=me`, configMap("new"), {
        type: "application/apply-patch+yaml",
      }),
    ]) {
      assert.match(answer.message, /failed expression: object.metadata.name != 'new' && oldObject == null$/);
    }
    assert.equal((await scene.send("GET", `${configMaps}/new`)).status, 404);
  });

  it("is evaluated for the approval, the status and the deletion of certificate requests", async () => {
    await scene.policy("requests", {
      matchConstraints: matching(["certificatesigningrequests/approval", "certificatesigningrequests/status"], {
        apiGroups: ["certificates.k8s.io"],
      }),
      validations: [{ expression: "request.userInfo.groups.exists(g, g == 'approvers')", message: "not yours" }],
    });
    const list = await scene.send("GET", requests);
    assert.equal(list.status, 200);
    const csr = await scene.send("POST", requests, {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "r" },
      spec: { request: testRequest, signerName: "example.com/x", usages: ["client auth"] },
    });
    assert.equal(csr.status, 201, csr.message);
    for (const subresource of ["approval", "status"]) {
      for (const domain of ["k8s.io", "platform.io"]) {
        const path = `/apis/certificates.${domain}/v1/certificatesigningrequests/r/${subresource}`;
        const answer = await scene.send("PUT", path, { ...csr.body, apiVersion: `certificates.${domain}/v1` });
        assert.match(answer.message, /denied request: not yours$/, path);
      }
    }
    assert.equal((await scene.send("DELETE", `${requests}/r`)).status, 200, "the rule is for subresources");
  });

  it("writes its own annotations into the audit log, at most 10 KiB of each, and refuses a write for which it can't, whatever its binding does", async () => {
    const annotated = async (valueExpression: string, failurePolicy = "Fail"): Promise<number> => {
      const spec = {
        failurePolicy,
        matchConstraints: matching(["configmaps"]),
        auditAnnotations: [{ key: "who", valueExpression }],
      };
      await scene.policy("annotated", spec, { validationActions: ["Audit"] });
      const answer = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("annotated"));
      await scene.clear();
      return answer.status;
    };
    assert.equal(await annotated("' ' + request.userInfo.username + ' writes '"), 201);
    assert.equal(
      await annotated(`'x${"\u{1f600}".repeat(1200)}'.replace('\u{1f600}', '${"\u{1f600}".repeat(3)}')`),
      201,
    );
    assert.equal(await annotated("null"), 201);
    assert.equal(await annotated("' '"), 201);
    assert.equal(await annotated("string(object.metadata.labels['none'])"), 422);
    assert.equal(await annotated("string(object.metadata.labels['none'])", "Ignore"), 201);
  });

  it("says its message where the expression for it gives no text, several lines, or more than 5 KiB", async () => {
    for (const messageExpression of [
      "' '",
      "'a\\nb'",
      `'${"x".repeat(5 * 1024 + 1)}'`,
      "string(object.data.missing)",
    ]) {
      await scene.policy("says", {
        matchConstraints: matching(["configmaps"]),
        validations: [{ expression: "false", message: "never", messageExpression }],
      });
      const { message } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
      assert.match(message, /denied request: never$/, messageExpression.slice(0, 20));
      await scene.clear();
    }
  });

  it("warns or annotates the audit event if its binding says so", async () => {
    const spec = {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "false", message: "never" }],
    };
    await scene.policy("soft", spec, { validationActions: ["Warn", "Audit"] });
    const validations = [...spec.validations, { expression: "1 > 2" }];
    await scene.policy("softer", { ...spec, validations }, { validationActions: ["Audit"] });
    const warned = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("warned"));
    assert.equal(warned.status, 201);
    assert.deepEqual(warned.warnings, [
      "Validation failed for ValidatingAdmissionPolicy 'soft' with binding 'soft': never",
    ]);
    assert.match(
      await scene.server.metricsText(),
      /apiserver_validating_admission_policy_check_total\{policy="soft",policy_binding="soft",error_type="no_error",enforcement_action="warn"\} 1/,
    );
  });

  it("records a write with at most 256 KiB of annotations", async () => {
    const valueExpression = `'${"x".repeat(5000)}'`;
    const spec = {
      matchConstraints: matching(["configmaps"]),
      auditAnnotations: Array.from({ length: 20 }, (_, index) => ({ key: `long${index}`, valueExpression })),
    };
    for (const name of ["long0", "long1", "long2", "long3"]) await scene.policy(name, spec);
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("long"))).status, 201);
  });

  it("annotates the audit event with at most 64 KiB of the failures", async () => {
    const validations = Array.from({ length: 20 }, (_, index) => ({
      expression: "false",
      message: `${index} ${"x".repeat(4200)}`,
    }));
    const spec = { matchConstraints: matching(["configmaps"]), validations };
    await scene.policy("many", spec, { validationActions: ["Audit"] });
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("many"))).status, 201);
  });

  it("annotates the audit event with the failures of each object of a deleted collection, and with equal ones once", async () => {
    const labels = { all: "gone" };
    for (const name of ["one", "two"]) await scene.send("POST", configMaps, configMap(name, { metadata: { labels } }));
    const validations = [
      { expression: "false", messageExpression: "string(oldObject.metadata.name)" },
      { expression: "false", message: "never" },
    ];
    const spec = { matchConstraints: matching(["configmaps"], { operations: ["DELETE"] }), validations };
    await scene.policy("gone", spec, { validationActions: ["Audit"] });
    assert.equal((await scene.send("DELETE", `${configMaps}?labelSelector=all%3Dgone`)).status, 200);
  });

  it("is not evaluated for reviews, policies and the server's own writes", async () => {
    await scene.policy("closed", {
      matchConstraints: matching(["*", "*/*"].slice(1), { apiGroups: ["*"] }),
      validations: [{ expression: "false", message: "closed" }],
    });
    assert.match((await scene.send("POST", configMaps, configMap("x"))).message, /closed$/);
    for (const [group, kind] of [
      ["authorization", "SelfSubjectAccessReview"],
      ["authentication", "SelfSubjectReview"],
    ] as const) {
      const body = {
        apiVersion: `${group}.k8s.io/v1`,
        kind,
        spec: { nonResourceAttributes: { path: "/", verb: "get" } },
      };
      assert.equal((await scene.send("POST", `/apis/${group}.k8s.io/v1/${kind.toLowerCase()}s`, body)).status, 201);
    }
    await scene.server.client.request(configMaps, { method: "POST", body: configMap("own") });
  });

  it("does nothing without a binding, and stops when it or its binding is gone or changed", async () => {
    const path = "/apis/admissionregistration.platform.io/v1/validatingadmissionpolicies/brief";
    const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    const send = () => scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    await scene.policy("brief", {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "false", message: "one" }],
    });
    assert.match((await send()).message, /one$/);
    const patch = [{ op: "replace", path: "/spec/validations/0/message", value: "two" }];
    const changed = await scene.send("PATCH", path, patch, { type: "application/json-patch+json" });
    assert.deepEqual(changed.body["status"], { observedGeneration: 2 });
    assert.match((await send()).message, /two$/);
    await scene.send("DELETE", `${bindings}/brief`);
    assert.equal((await send()).status, 201);
    await scene.bind("again", { policyName: "brief", validationActions: ["Deny"] });
    assert.match((await send()).message, /with binding 'again' denied request: two$/);
    await scene.send("DELETE", path);
    assert.equal((await send()).status, 201);
  });

  it("names a fault of its metadata once when its status is written", async () => {
    await scene.policy("reported", {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "true" }],
    });
    const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/reported/status";
    const type = "application/merge-patch+json";
    const { body } = await scene.send("PATCH", path, { metadata: { uid: "other" } }, { type });
    const message = 'Invalid value: "other": field is immutable';
    assert.deepEqual(body["details"], {
      name: "reported",
      group: "admissionregistration.k8s.io",
      kind: "ValidatingAdmissionPolicy",
      causes: [{ reason: "FieldValueInvalid", message, field: "metadata.uid" }],
    });
  });
});
