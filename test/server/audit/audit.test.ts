import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { badRequest } from "../../../src/machinery/api/api-error.ts";
import { auditEvents, kindsOf } from "./audit-events.ts";
import type { AuditEvent } from "./audit-events.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { InProcess } from "../in-process.ts";

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - { level: None, nonResourceURLs: [/healthz*, /metrics] }
  - { level: Request, omitStages: [RequestReceived], resources: [{ group: coordination.k8s.io }] }
  - { level: RequestResponse, resources: [{ group: "", resources: [configmaps], resourceNames: [plain] }], omitManagedFields: true }
  - { level: Metadata, resources: [{ group: "", resources: [configmaps], resourceNames: [selected] }] }
  - { level: RequestResponse }
`;
const protobuf = "application/vnd.kubernetes.protobuf";

describe("the audit log with a policy", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-audit-"));
  const path = join(folder, "audit.log");
  const policyFile = join(folder, "policy.yaml");
  let server: TestServer;
  let api: InProcess;
  let requests = 0;
  const configMaps = "/api/v1/namespaces/default/configmaps";

  /** Sends a request, and returns its events, once there are so many. */
  const eventsOf = async (
    target: string,
    sent: Parameters<InProcess["send"]>[1] = {},
    count = 2,
  ): Promise<AuditEvent[]> => {
    const id = `request-${++requests}`;
    await api.send(target, { ...sent, headers: { ...sent.headers, "audit-id": id } });
    return auditEvents(path, ({ auditID }) => auditID === id, count);
  };
  const lastOf = async (target: string, sent: Parameters<InProcess["send"]>[1] = {}): Promise<AuditEvent> => {
    const last = (await eventsOf(target, sent)).at(-1);
    assert.ok(last);
    return last;
  };
  const configMap = (name: string): object => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { a: "b" },
  });

  before(async () => {
    writeFileSync(policyFile, policy);
    server = await startTestServer({
      settings: { "audit-log-path": path, "audit-policy-file": policyFile },
      admission: [
        {
          name: "Trouble",
          validate({ name }) {
            if (name === "bug") throw new TypeError("a secret detail");
            if (name === "quoting") throw badRequest("the body was: hunter2");
          },
        },
      ],
    });
    await waitForDefaultAccount(server);
    api = new InProcess(server);
  });

  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("has one event when a request is received and one when it is answered, with its objects", async () => {
    const [received, complete] = await eventsOf(configMaps, { method: "POST", body: configMap("one") });
    assert.deepEqual(
      [received?.stage, received?.level, received?.responseStatus, received?.annotations],
      ["RequestReceived", "RequestResponse", undefined, undefined],
    );
    assert.deepEqual(received?.objectRef, { resource: "configmaps", namespace: "default", apiVersion: "v1" });
    assert.equal(complete?.stage, "ResponseComplete");
    assert.equal(complete.requestReceivedTimestamp, received?.requestReceivedTimestamp);
    assert.deepEqual(complete.responseStatus, { metadata: {}, code: 201 });
    assert.deepEqual(complete.requestObject?.["data"], { a: "b" });
    assert.equal(complete.objectRef?.name, "one");
    assert.equal(complete.objectRef.uid, complete.responseObject?.metadata?.uid);
    assert.ok(complete.responseObject?.metadata?.managedFields);
    assert.deepEqual(complete.annotations, {
      "authorization.k8s.io/decision": "allow",
      "authorization.k8s.io/reason": "",
    });
  });

  it("names the object of a create that is refused, because it exists or because its name is wrong", async () => {
    for (const [name, code] of [
      ["twice", 201],
      ["twice", 409],
      ["Wrong_", 422],
      ["quoting", 400],
    ] as const) {
      const { objectRef, responseStatus } = await lastOf(configMaps, { method: "POST", body: configMap(name) });
      assert.deepEqual([objectRef?.name, responseStatus?.["code"]], [name, code]);
    }
    const long = `x${"\u{1f600}".repeat(5_000)}`;
    const { objectRef } = await lastOf(configMaps, { method: "POST", body: configMap(long) });
    assert.equal(objectRef?.name, `${long.slice(0, 2047)}\ufffd...TRUNCATED`);
    const generated = { ...configMap(""), metadata: { generateName: "made-" } };
    assert.match((await lastOf(configMaps, { method: "POST", body: generated })).objectRef?.name ?? "", /^made-\w{5}$/);
  });

  it("has the message of a read that is refused, which quotes no body", async () => {
    const list = await lastOf(`${configMaps}?labelSelector=a%20in%20(`, {});
    assert.deepEqual([list.responseStatus?.["code"], list.responseStatus?.["reason"]], [400, "BadRequest"]);
    assert.match(String(list.responseStatus?.["message"]), /^unable to parse requirement: /);
    const create = await lastOf(configMaps, { method: "POST", body: configMap("quoting") });
    assert.deepEqual([create.responseStatus?.["code"], create.responseStatus?.["message"]], [400, undefined]);
  });

  it("records a refusal as it is answered, and no longer, however often it quotes the request", async () => {
    const ownerReferences = Array.from({ length: 100 }, (_, index) => ({
      apiVersion: "v1",
      kind: "Pod",
      name: `pod-${index}`,
      uid: `${index}`,
      controller: true,
    }));
    const body = { ...configMap("quoted"), metadata: { name: "quoted", ownerReferences } };
    const { message, reason, details } = await api.json(configMaps, {
      method: "POST",
      body,
      headers: { "audit-id": "quoted" },
    });
    const [, refused] = await auditEvents(path, ({ auditID }) => auditID === "quoted", 2);
    assert.deepEqual(refused?.responseStatus, {
      metadata: {},
      status: "Failure",
      message,
      reason,
      details,
      code: 422,
    });
  });

  it("quotes no more than 4096 letters of a stranger's path, and 2048 of a name", async () => {
    const headers = { authorization: [] };
    const { objectRef, requestURI, responseStatus } = await lastOf(`${configMaps}/${"n".repeat(60_000)}`, { headers });
    assert.equal(responseStatus?.code, 403);
    assert.deepEqual(
      [requestURI, responseStatus.message, objectRef?.name].map((text) => text?.replace("...TRUNCATED", "").length),
      [4096, 4096, 2048],
    );
    assert.ok(!("details" in responseStatus), "they have the name");
  });

  it("takes a list and a watch of one name for requests for that object, and a deletion of a collection for none", async () => {
    const selected = (name: string): string => `${configMaps}?fieldSelector=metadata.name%3D${name}`;
    for (const [target, method, expected] of [
      [selected("selected"), "GET", ["list", "Metadata", "selected"]],
      [`${selected("selected")}&watch=1&resourceVersion=x`, "GET", ["watch", "Metadata", "selected"]],
      [`${selected("selected")}&labelSelector=a%20in%20(`, "GET", ["list", "Metadata", "selected"]],
      [selected("other"), "GET", ["list", "RequestResponse", "other"]],
      [selected("a%2Fb"), "GET", ["list", "RequestResponse", undefined]],
      [`${configMaps}?fieldSelector=metadata.name!%3Dselected`, "GET", ["list", "RequestResponse", undefined]],
      [selected("selected"), "DELETE", ["deletecollection", "RequestResponse", undefined]],
    ] as const) {
      const { verb, level, objectRef } = await lastOf(target, { method });
      assert.deepEqual([verb, level, objectRef?.name], expected, target);
    }
  });

  it("is written before the answer, as in upstream's default mode", async () => {
    await api.send("/version", { headers: { "audit-id": "at-once" } });
    assert.match(readFileSync(path, "utf8"), /"auditID":"at-once","stage":"ResponseComplete"/);
  });

  it("records a write whose answer is a long object in YAML, and a list in YAML that is too long without its body", async () => {
    const data = { a: "x: y\n".repeat(60_000) };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "long" }, data };
    const headers = { accept: "application/yaml" };
    const written = await lastOf(configMaps, { method: "POST", headers, body });
    assert.deepEqual([written.stage, written.responseStatus?.["code"]], ["ResponseComplete", 201]);
    assert.deepEqual(written.responseObject?.["data"], data);
    const deleted = await lastOf(`${configMaps}?fieldSelector=metadata.name%3Dlong`, { method: "DELETE", headers });
    assert.deepEqual([deleted.verb, deleted.responseStatus?.["code"]], ["deletecollection", 200]);
    assert.deepEqual([deleted.responseObject, deleted.annotations?.["audit.k8s.io/truncated"]], [undefined, "true"]);
  });

  it("records a patch that is nested too deeply, or has too many values, without its body: as other bodies that are refused", async () => {
    const nested = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const long = `{"a":[${"0,".repeat(50_000)}0]}`;
    for (const [body, code] of [
      [nested, 400],
      [long, 413],
    ] as const) {
      const headers = { "content-type": "application/merge-patch+json" };
      const patch = await lastOf(`${configMaps}/one`, { method: "PATCH", headers, body });
      assert.deepEqual([patch.stage, patch.responseStatus?.["code"]], ["ResponseComplete", code]);
      assert.equal(patch.requestObject, undefined);
    }
  });

  it("names the kind of a review, and its version, also where its sender does not", async () => {
    const review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const body = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
    const { requestObject } = await lastOf(review, { method: "POST", body });
    assert.deepEqual(
      [requestObject?.kind, requestObject?.["apiVersion"]],
      ["SelfSubjectAccessReview", "authorization.k8s.io/v1"],
    );
    const eviction = await lastOf("/api/v1/namespaces/default/pods/none/eviction", { method: "POST", body: {} });
    assert.deepEqual([eviction.requestObject?.kind, eviction.requestObject?.["apiVersion"]], ["Eviction", "policy/v1"]);
  });

  it("records every verb", async () => {
    const seen = async (method: string, target: string, sent: object = {}): Promise<string> => {
      const { verb, level, stage, requestObject, responseObject } = await lastOf(target, { method, ...sent });
      return [verb, level, stage, ...kindsOf(requestObject, responseObject)].join(" ");
    };
    const whole = "RequestResponse ResponseComplete";
    assert.equal(await seen("POST", configMaps, { body: configMap("two") }), `create ${whole} ConfigMap ConfigMap`);
    assert.equal(await seen("GET", `${configMaps}/two`), `get ${whole} - ConfigMap`);
    assert.equal(await seen("GET", configMaps), `list ${whole} - ConfigMapList`);
    assert.equal(
      await seen("PUT", `${configMaps}/two`, { body: configMap("two") }),
      `update ${whole} ConfigMap ConfigMap`,
    );
    const headers = { "content-type": "application/merge-patch+json" };
    assert.equal(
      await seen("PATCH", `${configMaps}/two`, { headers, body: { data: {} } }),
      `patch ${whole} object ConfigMap`,
    );
    const applied = {
      headers: { "content-type": "application/apply-patch+yaml" },
      body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n",
    };
    const apply = `${configMaps}/two?fieldManager=me&force=true`;
    assert.equal(await seen("PATCH", apply, applied), `patch ${whole} ConfigMap ConfigMap`);
    const options = { body: { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 } };
    assert.equal(await seen("DELETE", `${configMaps}/two`, options), `delete ${whole} DeleteOptions Status`);
    const one = `${configMaps}?labelSelector=a%3Dnone`;
    assert.equal(await seen("DELETE", one), `deletecollection ${whole} - ConfigMapList`);
    assert.equal(await seen("GET", "/version"), `get ${whole} - -`);
    assert.equal(await seen("GET", "/api/v1/nothing"), `list ${whole} - Status`);
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { nonResourceAttributes: {} },
    };
    const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const kind = "SelfSubjectAccessReview";
    assert.equal(await seen("POST", reviews, { body: review }), `create ${whole} ${kind} ${kind}`);
    const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const [approved] = await eventsOf(`${csrs}/none/approval`, { method: "PUT", body: {} });
    assert.equal(approved?.objectRef?.subresource, "approval");
  });

  it("holds the Status that refuses a watch, a path or a login", async () => {
    const codeIn = ({ responseObject }: AuditEvent): unknown => responseObject?.["code"];
    const watch = await eventsOf(`${configMaps}?watch=1&fieldSelector=x%3Dy`, {}, 3);
    assert.deepEqual(watch.map(codeIn), [undefined, 400, 400]);
    const path = await eventsOf("/version", { method: "POST" });
    assert.deepEqual(path.map(codeIn), [undefined, 405]);
    const login = await eventsOf(configMaps, { headers: { authorization: "Bearer unknown" } }, 1);
    assert.deepEqual(login.map(codeIn), [401]);
  });

  it("has the details of the Status that a deletion answers", async () => {
    await api.send(configMaps, { method: "POST", body: configMap("gone") });
    const { metadata } = await api.json(`${configMaps}/gone`);
    const statusOf = async (target: string) => (await lastOf(target, { method: "DELETE" })).responseStatus;
    const success = (details: object) => ({ metadata: {}, status: "Success", details, code: 200 });
    const one = { name: "gone", kind: "configmaps", uid: metadata.uid };
    assert.deepEqual(await statusOf(`${configMaps}/gone`), success(one));
    const accounts = "/api/v1/namespaces/default/serviceaccounts?labelSelector=a%3Dnone";
    assert.deepEqual(await statusOf(accounts), success({ kind: "serviceaccounts" }));
  });

  it("says when a request names a deprecated version, and in which release the version is gone", async () => {
    const annotationsOf = async (version: string) => {
      const { annotations } = await lastOf(`/apis/certificates.k8s.io/${version}/clustertrustbundles`);
      return [annotations?.["k8s.io/deprecated"], annotations?.["k8s.io/removed-release"]];
    };
    assert.deepEqual(await annotationsOf("v1beta1"), ["true", "1.40"]);
    assert.deepEqual(await annotationsOf("v1"), [undefined, undefined]);
  });

  it("names the resourceVersion that an update was sent with", async () => {
    await api.send(configMaps, { method: "POST", body: configMap("versioned") });
    const { metadata } = await api.json(`${configMaps}/versioned`);
    const body = {
      ...configMap("versioned"),
      metadata: { name: "versioned", resourceVersion: metadata.resourceVersion },
    };
    const { objectRef } = await lastOf(`${configMaps}/versioned`, { method: "PUT", body });
    assert.deepEqual([objectRef?.resourceVersion, objectRef?.uid], [metadata.resourceVersion, metadata.uid]);
  });

  it("keeps the rule's level, stages and managed fields", async () => {
    const [lease] = await eventsOf("/apis/coordination.platform.io/v1/namespaces/default/leases", {}, 1);
    assert.deepEqual([lease?.level, lease?.stage, lease?.responseObject], ["Request", "ResponseComplete", undefined]);
    await api.send(configMaps, { method: "POST", body: configMap("plain") });
    const { responseObject } = await lastOf(`${configMaps}/plain`);
    assert.equal(responseObject?.metadata?.managedFields, undefined);
    await api.send("/healthz", { headers: { "audit-id": "silent" } });
    await eventsOf("/version");
    assert.ok(!readFileSync(path, "utf8").includes('"silent"'));
  });

  it("reads objects in protobuf and YAML", async () => {
    for (const accept of [protobuf, "application/yaml"]) {
      const one = await lastOf(`${configMaps}/one`, { headers: { accept } });
      assert.equal(one.responseObject?.metadata?.name, "one", accept);
      const list = await lastOf(configMaps, { headers: { accept } });
      assert.equal(list.responseObject?.["kind"], "ConfigMapList", accept);
      const status = await lastOf(`${configMaps}/none`, { headers: { accept } });
      assert.equal(status.responseObject?.["reason"], "NotFound", accept);
    }
  });

  it("has the answer of a read as it was sent, without parsing it, and on one line", async (t) => {
    const parse = t.mock.method(JSON, "parse");
    const { body } = await api.send(configMaps, { headers: { "audit-id": "as sent" } });
    const parsed = parse.mock.calls.filter(({ arguments: [text] }) => text.includes("ConfigMapList"));
    parse.mock.restore();
    assert.equal(parsed.length, 0);
    const [, event] = await auditEvents(path, ({ auditID }) => auditID === "as sent", 2);
    assert.deepEqual(event?.responseObject, JSON.parse(String(body)));
    const pretty = await lastOf(`${configMaps}?pretty=true`);
    assert.deepEqual(pretty.responseObject, event?.responseObject);
  });

  it("never contains secrets, whatever the policy says", async () => {
    const hidden = ["aHVudGVyMg==", "hunter2", "hunter3"];
    const secrets = "/api/v1/namespaces/default/secrets";
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      data: { a: hidden[0] },
      stringData: { b: "hunter2" },
    };
    const written = await lastOf(secrets, { method: "POST", body: secret });
    assert.deepEqual(
      [written.level, written.requestObject, written.responseObject],
      ["Metadata", undefined, undefined],
    );
    for (const accept of ["application/json", "application/json;as=Table;g=meta.k8s.io;v=v1", protobuf]) {
      await lastOf(`${secrets}?includeObject=Object`, { headers: { accept } });
    }
    const headers = { "content-type": "application/json-patch+json" };
    const patch = [{ op: "replace", path: "/data/a", value: "aHVudGVyMg==" }];
    await lastOf(`${secrets}/s`, { method: "PATCH", headers, body: patch });
    await lastOf(secrets, { method: "POST", body: { ...secret, data: { a: "hunter2" } } });
    await lastOf(secrets, { method: "POST", body: '{"kind":"hunter2' });
    await lastOf(configMaps, { method: "POST", body: configMap("quoting") });

    for (const group of ["authentication.k8s.io", "authentication.platform.io"]) {
      const review = { apiVersion: `${group}/v1`, kind: "TokenReview", spec: { token: "hunter3" } };
      const reviewed = await lastOf(`/apis/${group}/v1/tokenreviews`, { method: "POST", body: review });
      assert.equal(reviewed.requestObject?.spec?.token, "REDACTED");
      assert.equal(reviewed.responseObject?.spec?.token, "REDACTED");
      const request = { apiVersion: `${group}/v1`, kind: "TokenRequest", spec: {} };
      for (const accept of ["application/json", protobuf]) {
        const target = "/api/v1/namespaces/default/serviceaccounts/default/token";
        const issued = await lastOf(target, { method: "POST", body: request, headers: { accept } });
        assert.equal(issued.responseObject?.status?.token, "REDACTED");
        assert.match(
          issued.annotations?.["authentication.kubernetes.io/issued-credential-id"] ?? "",
          /^JTI=[0-9a-f-]{36}$/,
        );
      }
    }
    // What a client sends to the path of another kind.
    const apply = { "content-type": "application/apply-patch+yaml" };
    const merge = { "content-type": "application/strategic-merge-patch+json" };
    const list = { apiVersion: "v1", kind: "List", items: [secret] };
    for (const body of [secret, { ...secret, kind: undefined, Kind: "Secret" }, list]) {
      await lastOf(`${configMaps}/quoting`, { method: "DELETE", body });
      await lastOf(`${configMaps}/quoting`, { method: "PATCH", headers: merge, body });
      await lastOf(`${configMaps}/quoting?fieldManager=x`, { method: "PATCH", headers: apply, body });
    }
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "hunter3" } };
    const reviewed = await lastOf(`${configMaps}/quoting`, { method: "PATCH", headers: merge, body: review });
    assert.equal(reviewed.requestObject?.spec?.token, "REDACTED");
    const text = readFileSync(path, "utf8");
    for (const one of [...hidden, server.adminToken, "eyJ"]) assert.ok(!text.includes(one), one);
  });

  it("names the credential of each request, from its token to its use", async () => {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const target = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const { status } = await api.json<{ status: { token: string } }>(target, {
      method: "POST",
      body,
      headers: { "audit-id": "issue" },
    });
    const [, issued] = await auditEvents(path, ({ auditID }) => auditID === "issue", 2);
    const used = await lastOf("/version", { token: status.token });
    const id = issued?.annotations?.["authentication.kubernetes.io/issued-credential-id"] ?? "none";
    assert.deepEqual(used.user.extra?.["authentication.platform.io/credential-id"], [id]);
  });

  it("records refused logins, denied requests, and both users of an impersonation", async () => {
    const [login] = await eventsOf(`${configMaps}/one`, { token: "wrong" }, 1);
    assert.deepEqual([login?.stage, login?.user], ["ResponseStarted", {}]);
    assert.deepEqual(login?.responseStatus, {
      metadata: {},
      status: "Failure",
      message: "Authentication failed, attempted: bearer",
      reason: "Unauthorized",
      code: 401,
    });
    const headers = { "impersonate-user": "jane", "impersonate-group": "devs" };
    const refused = await lastOf(`${configMaps}/one`, { headers });
    assert.deepEqual([refused.user.username, refused.impersonatedUser?.username], ["admin", "jane"]);
    assert.deepEqual(refused.authenticationMetadata, { impersonationConstraint: "impersonate:user-info" });
    assert.deepEqual([refused.responseStatus?.code, refused.responseStatus?.reason], [403, "Forbidden"]);
    assert.match(refused.responseStatus?.message ?? "", /^configmaps "one" is forbidden: User "jane" cannot get /);
    assert.equal(refused.annotations?.["authorization.k8s.io/decision"], "forbid");
  });

  it("records an internal error as a panic, without its details", async () => {
    const [, panic] = await eventsOf(configMaps, { method: "POST", body: configMap("bug") });
    assert.deepEqual(
      [panic?.stage, panic?.responseStatus?.code, panic?.responseStatus?.reason],
      ["Panic", 500, "InternalError"],
    );
    assert.ok(!readFileSync(path, "utf8").includes("a secret detail"));
  });

  it("records the start and the end of a watch, and a watch that is refused", async () => {
    const id = "a-watch";
    const watch = await api.watch(`${configMaps}?watch=1`, { headers: { "audit-id": id } });
    watch.stop();
    const events = await auditEvents(path, ({ auditID }) => auditID === id, 3);
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["RequestReceived", "ResponseStarted", "ResponseComplete"],
    );
    const refused = await eventsOf(`${configMaps}?watch=1&resourceVersion=x`, {}, 3);
    assert.deepEqual(
      refused.map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
      [
        ["RequestReceived", undefined],
        ["ResponseStarted", 400],
        ["ResponseComplete", 400],
      ],
    );
  });

  it("puts the address of the connection last, after those that a proxy names, as upstream does", async () => {
    const headers = { "x-forwarded-for": "192.0.2.1, nonsense, 2001:db8::1", "x-real-ip": "192.0.2.7" };
    const { sourceIPs } = await lastOf("/version", { headers });
    assert.deepEqual(sourceIPs, ["192.0.2.1", "2001:db8::1", "192.0.2.7", "127.0.0.1"]);
    const same = await lastOf("/version", { headers: { "x-forwarded-for": "192.0.2.1, 127.0.0.1" } });
    assert.deepEqual(same.sourceIPs, ["192.0.2.1", "127.0.0.1"]);
  });

  it("leaves out a body that is too large, and says so", async () => {
    const data = { a: "x".repeat(1024 * 1024) };
    for (let index = 0; index < 5; index++) {
      await api.send(configMaps, { method: "POST", body: { ...configMap(`large-${index}`), data } });
    }
    const { responseObject, annotations } = await lastOf(configMaps);
    assert.equal(responseObject, undefined);
    assert.equal(annotations?.["audit.k8s.io/truncated"], "true");
  });

  it("counts each request once at its level, however many events it has", async () => {
    const counted = async (): Promise<number> => {
      const { body } = await api.send("/metrics");
      return Number(/^apiserver_audit_level_total\{level="Metadata"\} (\d+)$/m.exec(String(body))?.[1] ?? 0);
    };
    const earlier = await counted();
    const events = await eventsOf(`${configMaps}/selected`);
    assert.deepEqual([events.length, (await counted()) - earlier], [2, 1]);
  });

  it("is counted in metrics, and private to its user", async () => {
    const { body } = await api.send("/metrics");
    assert.match(String(body), /^apiserver_audit_event_total [1-9]\d*$/m);
    assert.match(String(body), /^apiserver_audit_level_total\{level="RequestResponse"\} [1-9]\d*$/m);
    assert.match(String(body), /^apiserver_audit_level_total\{level="None"\} [1-9]\d*$/m);
    assert.match(String(body), /^apiserver_audit_error_total\{plugin="log"\} 0$/m);
    assert.match(String(body), /^apiserver_audit_requests_rejected_total 0$/m);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("follows its policy file, and keeps the old rules when the new ones are invalid", async () => {
    writeFileSync(policyFile, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Everything }]\n");
    server.readFilesAgain();
    assert.equal((await lastOf("/version")).level, "RequestResponse");
    writeFileSync(policyFile, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n\n");
    server.readFilesAgain();
    assert.equal((await lastOf("/version")).level, "Metadata");
  });

  it("makes no log when another file of its settings is refused", async () => {
    const unmade = join(folder, "unmade.log");
    for (const setting of ["audit-policy-file", "audit-webhook-config-file"]) {
      const settings = { "audit-log-path": unmade, [setting]: join(folder, "missing") };
      await assert.rejects(startTestServer({ settings }), new RegExp(`--${setting}: cannot read`));
      assert.equal(existsSync(unmade), false);
    }
  });
});
