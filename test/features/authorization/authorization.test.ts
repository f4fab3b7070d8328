import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { connectAuthorization } from "../../../src/features/authorization/feature.ts";
import { authorizationFlags, authorizationSettings } from "../../../src/features/authorization/settings.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { FollowedFiles } from "../../../src/machinery/files/followed/followed-files.ts";
import { resolveFlags } from "../../../src/machinery/command-line/settings/flag.ts";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const folder = temporaryFolder();
const fileOf = (name: string, content: unknown): string => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
};
const settingsOf = (given: Readonly<Record<string, unknown>>) =>
  authorizationSettings(resolveFlags(authorizationFlags, { commandLine: given, file: {} }));

describe("the flags of authorization", () => {
  it("default to Node and RBAC, and to upstream's times for a webhook", () => {
    assert.deepEqual(settingsOf({}), {
      type: "built in",
      authorizers: [
        { type: "Node", name: "node" },
        { type: "RBAC", name: "rbac" },
      ],
    });
    const flags = { "authorization-mode": "Webhook,RBAC", "authorization-webhook-config-file": "/a" };
    const settings = settingsOf(flags);
    assert.ok(settings.type === "webhook" && settings.authorizers[0]?.type === "Webhook");
    assert.deepEqual(settings.authorizers[0].webhook, {
      kubeconfig: "/a",
      timeoutMilliseconds: 30_000,
      version: "v1beta1",
      authorizedMilliseconds: 300_000,
      unauthorizedMilliseconds: 30_000,
      onFailure: "noOpinion",
      condition: undefined,
    });
  });

  const refused: Readonly<Record<string, readonly [given: Record<string, string>, fault: RegExp]>> = {
    "a file and modes": [{ "authorization-config": "/a", "authorization-mode": "RBAC" }, /can not be specified when/],
    "a file and a webhook": [
      { "authorization-config": "/a", "authorization-webhook-version": "v1" },
      /can not be specified when/,
    ],
    "a mode twice": [{ "authorization-mode": "RBAC,RBAC" }, /has mode specified more than once/],
    "a webhook without a file": [{ "authorization-mode": "Webhook" }, /needs --authorization-webhook-config-file/],
    "a file without the mode": [{ "authorization-webhook-config-file": "/a" }, /needs the mode Webhook/],
    "an unknown mode": [{ "authorization-mode": "ABAC" }, /is not one of AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook/],
  };
  for (const [name, [given, fault]] of Object.entries(refused)) {
    it(`are refused: ${name}`, () => assert.throws(() => settingsOf(given), fault));
  }
});

describe("followed authorizers", () => {
  const text = (...types: readonly string[]): string =>
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1beta1",
      kind: "AuthorizationConfiguration",
      authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
    });
  const follow = async (given: Readonly<Record<string, unknown>>) => {
    const heard: string[] = [];
    const files = new FollowedFiles({ log: { info: () => {}, error: ({ reason }) => heard.push(String(reason)) } });
    const connected = await connectAuthorization({
      settings: settingsOf(given),
      clock: systemClock,
      log: pino({ level: "silent" }),
      followed: files,
      maximumPending: 1,
      observer: {
        onReloaded: (status) => heard.push(status),
        onEvaluated: () => {},
        onFailedOpen: () => {},
        onExcluded: () => {},
        onConditionError: () => {},
      },
    });
    const look = (isForced = false): string[] => {
      heard.length = 0;
      files.refresh({ isForced });
      return [...heard];
    };
    return { connected, look, types: () => connected.authorizers().map(({ type }) => type) };
  };

  it("are replaced when their file changes, and stay while it is invalid", async () => {
    const file = fileOf("followed.yaml", text("RBAC"));
    const { connected, look, types } = await follow({ "authorization-config": file });
    const first = connected.authorizers();
    assert.deepEqual(look(), []);
    assert.equal(connected.authorizers(), first);
    fileOf("followed.yaml", text("Nobody"));
    const [counted, reason = ""] = look();
    assert.equal(counted, "failure");
    assert.match(reason, /--authorization-config: .*followed.yaml: authorizers\[0\].type: Unsupported value: "Nobody"/);
    assert.deepEqual(look(), [], "it is said once");
    assert.equal(look(true)[0], "failure", "SIGHUP asks again");
    assert.deepEqual(types(), ["RBAC"]);
    fileOf("followed.yaml", text("AlwaysDeny", "RBAC"));
    assert.deepEqual(look(), ["success"]);
    assert.deepEqual(types(), ["AlwaysDeny", "RBAC"]);
    rmSync(file);
    assert.equal(look()[0], "failure");
    assert.deepEqual(types(), ["AlwaysDeny", "RBAC"]);
    connected.close();
  });

  const kubeconfig = (server: string): string =>
    fileOf("hook.yaml", {
      clusters: [{ name: "hook", cluster: { server } }],
      contexts: [{ name: "hook", context: { cluster: "hook" } }],
      "current-context": "hook",
    });
  const configured = (): string =>
    fileOf("with-hook.yaml", {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [
        { type: "RBAC", name: "rbac" },
        {
          type: "Webhook",
          name: "hook",
          webhook: {
            timeout: "5s",
            subjectAccessReviewVersion: "v1",
            matchConditionSubjectAccessReviewVersion: "v1",
            failurePolicy: "NoOpinion",
            connectionInfo: { type: "KubeConfigFile", kubeConfigFile: kubeconfig("https://one.example") },
          },
        },
      ],
    });
  for (const [flag, flags] of Object.entries({
    "authorization-webhook-config-file": () => ({
      "authorization-mode": "RBAC,Webhook",
      "authorization-webhook-config-file": kubeconfig("https://one.example"),
    }),
    "authorization-config": () => ({ "authorization-config": configured() }),
  })) {
    it(`read the kubeconfig of a webhook of --${flag} again when it changes`, async () => {
      const { connected, look, types } = await follow(flags());
      const first = connected.authorizers();
      kubeconfig("https://another.example");
      assert.deepEqual(look(), ["success"]);
      assert.notEqual(connected.authorizers(), first);
      kubeconfig("http://no-tls.example");
      assert.match(look()[1] ?? "", new RegExp(`--${flag}: .*kubeconfig .* is not a URL such as https`));
      assert.deepEqual(types(), ["RBAC", "Webhook"]);
      connected.close();
    });
  }
});

describe("a Signet whose authorizer is another Signet", () => {
  let asked: TestServer;
  let server: TestServer;
  let http: InProcess;
  let token = "";
  before(async () => {
    const tokenFile = fileOf(
      "tokens.csv",
      'root-token,root,1,"system:masters"\nada-token,ada,2,"dev"\nbob-token,bob,3,"dev"\n',
    );
    asked = await startTestServer({ settings: { controllers: false } });
    const cluster = {
      server: `${asked.url}/apis/authorization.k8s.io/v1/subjectaccessreviews`,
      "certificate-authority-data": Buffer.from(asked.caCertificates).toString("base64"),
    };
    const kubeConfigFile = fileOf("webhook.yaml", {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "other", cluster }],
      users: [{ name: "me", user: { token: asked.adminToken } }],
      contexts: [{ name: "webhook", context: { cluster: "other", user: "me" } }],
      "current-context": "webhook",
    });
    const webhook = {
      timeout: "5s",
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      failurePolicy: "NoOpinion",
      cacheAuthorizedRequests: false,
      cacheUnauthorizedRequests: false,
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
      matchConditions: [{ expression: "request.user == 'ada'" }],
    };
    const config = fileOf("authorization.yaml", {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [
        { type: "Webhook", name: "other", webhook },
        { type: "RBAC", name: "rbac" },
      ],
    });
    server = await startTestServer({ tokenFile, settings: { controllers: false, "authorization-config": config } });
    http = new InProcess(server);
    token = "ada-token";
    await asked.client.request("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      method: "POST",
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "reader" },
        rules: [
          { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] },
          { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["list"] },
        ],
      },
    });
    await asked.client.request("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      method: "POST",
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "reader" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ada" }],
      },
    });
  });
  after(async () => {
    await server.stop();
    await asked.stop();
  });
  const review = async (kind: string, spec: unknown): Promise<{ status: Record<string, unknown> }> =>
    http.json(`/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, {
      method: "POST",
      token,
      body: { apiVersion: "authorization.k8s.io/v1", kind, spec },
    });

  it("allows what the other allows, in both spellings, and its own rules allow the rest", async () => {
    assert.equal((await http.send("/api/v1/configmaps", { token })).status, 200);
    for (const domain of ["k8s.io", "platform.io"]) {
      const path = `/apis/certificates.${domain}/v1/certificatesigningrequests`;
      assert.equal((await http.send(path, { token })).status, 200);
    }
    const refused = await http.json<{ message: string }>("/api/v1/secrets", { token });
    assert.match(refused.message, /secrets is forbidden: User "ada" cannot list resource "secrets"/);
    const own = await review("SelfSubjectAccessReview", {
      resourceAttributes: { verb: "list", resource: "configmaps" },
    });
    assert.equal(own.status["allowed"], true);

    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "only-here" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ada" }];
    const metadata = { name: "only-here" };
    for (const [resource, body] of [
      ["roles", { metadata, rules }],
      ["rolebindings", { metadata, roleRef, subjects }],
    ] as const) {
      const created = await http.send(`${rbac}/${resource}`, { method: "POST", token: "root-token", body });
      assert.equal(created.status, 201);
    }
    assert.equal((await http.send("/api/v1/namespaces/default/secrets", { token })).status, 200);
    assert.equal((await http.send("/api/v1/secrets", { token })).status, 403);
  });

  it("says that its list of rules is incomplete", async () => {
    const { status } = await review("SelfSubjectRulesReview", { namespace: "default" });
    assert.equal(status["incomplete"], true);
    assert.equal(status["evaluationError"], "webhook authorizer does not support user rule resolution");
  });

  it("counts decisions by authorizer", async () => {
    assert.equal((await http.send("/api", { token: "bob-token" })).status, 200, "the condition leaves bob to RBAC");
    const metrics = await server.metricsText();
    assert.match(
      metrics,
      /apiserver_authorization_decisions_total\{type="Webhook",name="other",decision="allowed"\} [1-9]/,
    );
    assert.match(
      metrics,
      /apiserver_authorization_decisions_total\{type="RBAC",name="rbac",decision="allowed"\} [1-9]/,
    );
    assert.match(metrics, /apiserver_authorization_webhook_evaluations_total\{name="other",result="success"\} [1-9]/);
    assert.match(
      metrics,
      /apiserver_authorization_webhook_duration_seconds_count\{name="other",result="success"\} [1-9]/,
    );
  });

  it("answers 500 to users that only the unreachable authorizer could allow, and administrators as before", async () => {
    await asked.stop();
    const gone = await http.json<{ code: number; message: string }>("/api/v1/configmaps", { token });
    assert.equal(gone.code, 500);
    assert.equal(
      gone.message,
      'Internal Server Error: "/api/v1/configmaps": authorizer "other": the webhook did not answer',
    );
    assert.equal((await http.send("/api/v1/configmaps", { token: "root-token" })).status, 200);
  });
});

it("AlwaysDeny allows only system:masters", async () => {
  const tokenFile = fileOf("tokens.csv", 'root-token,root,1,"system:masters"\nada-token,ada,2,"dev"\n');
  const server = await startTestServer({
    tokenFile,
    settings: { controllers: false, "authorization-mode": "AlwaysDeny" },
  });
  const http = new InProcess(server);
  const refused = await http.json<{ code: number; message: string }>("/api", { token: "ada-token" });
  assert.equal(refused.code, 403);
  assert.match(refused.message, /Everything is forbidden\.$/);
  assert.equal((await http.send("/api/v1/secrets", { token: "root-token" })).status, 200);
  await server.stop();
});
