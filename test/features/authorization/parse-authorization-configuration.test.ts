import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAuthorizationConfiguration } from "../../../src/features/authorization/parse-authorization-configuration.ts";

const kubeconfig = import.meta.filename;
const webhook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  matchConditionSubjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: kubeconfig },
  matchConditions: [{ expression: "has(request.resourceAttributes)" }],
};
const file = (...authorizers: readonly unknown[]): string =>
  JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration", authorizers });
const withWebhook = (changes: Readonly<Record<string, unknown>>): string =>
  file({ type: "Webhook", name: "hook", webhook: { ...webhook, ...changes } });
const hooks = (count: number): unknown[] =>
  Array.from({ length: count }, (_, index) => ({ type: "Webhook", name: `hook-${index}`, webhook }));
const conditions = (count: number): unknown[] =>
  Array.from({ length: count }, (_, index) => ({ expression: `request.user != 'user-${index}'` }));

describe("an AuthorizationConfiguration", () => {
  it("lists authorizers in its order, webhooks with upstream's defaults", () => {
    const [hook, ...others] = parseAuthorizationConfiguration(
      file({ type: "Webhook", name: "hook", webhook }, { type: "Node", name: "node" }, { type: "RBAC", name: "rbac" }),
    );
    assert.ok(hook?.type === "Webhook");
    const { condition, ...settings } = hook.webhook;
    assert.deepEqual(
      [hook.name, settings, typeof condition],
      [
        "hook",
        {
          kubeconfig,
          timeoutMilliseconds: 3000,
          version: "v1",
          authorizedMilliseconds: 300_000,
          unauthorizedMilliseconds: 30_000,
          onFailure: "deny",
        },
        "function",
      ],
    );
    assert.deepEqual(others, [
      { type: "Node", name: "node" },
      { type: "RBAC", name: "rbac" },
    ]);
  });

  it("says for how long answers are kept, or not at all", () => {
    for (const [changes, wanted] of [
      [{ cacheAuthorizedRequests: false, unauthorizedTTL: "1m30s" }, [0, 90_000]],
      [{ cacheUnauthorizedRequests: false, authorizedTTL: "10s" }, [10_000, 0]],
    ] as const) {
      const [one] = parseAuthorizationConfiguration(withWebhook(changes));
      assert.ok(one?.type === "Webhook");
      assert.deepEqual([one.webhook.authorizedMilliseconds, one.webhook.unauthorizedMilliseconds], wanted);
    }
  });

  it("may have 64 webhooks, each with 64 conditions or none, that wait for 30 seconds, in a cluster", () => {
    const withoutConditions = { matchConditions: [], matchConditionSubjectAccessReviewVersion: undefined };
    const [one] = parseAuthorizationConfiguration(
      withWebhook({ ...withoutConditions, timeout: "30s", connectionInfo: { type: "InClusterConfig" } }),
    );
    assert.ok(one?.type === "Webhook");
    const { kubeconfig: none, timeoutMilliseconds, condition } = one.webhook;
    assert.deepEqual([none, timeoutMilliseconds, condition], [undefined, 30_000, undefined]);
    for (const largest of [file(...hooks(64)), withWebhook({ matchConditions: conditions(64) })]) {
      assert.doesNotThrow(() => parseAuthorizationConfiguration(largest));
    }
  });

  const faults: Readonly<Record<string, readonly [text: string, fault: string]>> = {
    "no authorizer": [file(), "authorizers: Required value: at least one authorization mode must be defined"],
    "a type that is missing": [file({ name: "x" }), "authorizers[0].type: Required value"],
    "a type that is unknown": [
      file({ type: "ABAC", name: "x" }),
      'authorizers[0].type: Unsupported value: "ABAC": supported values: "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
    ],
    "a type twice": [
      file({ type: "RBAC", name: "a" }, { type: "RBAC", name: "b" }),
      'authorizers[1].type: Duplicate value: "RBAC"',
    ],
    "a name twice": [
      file({ type: "RBAC", name: "a" }, { type: "Node", name: "a" }),
      'authorizers[1].name: Duplicate value: "a"',
    ],
    "no name": [file({ type: "RBAC" }), "authorizers[0].name: Required value"],
    "a name that is no DNS name": [
      file({ type: "RBAC", name: "A b" }),
      'authorizers[0].name: Invalid value: "A b": authorizer name is invalid: a lowercase RFC 1123 subdomain',
    ],
    "a webhook without its settings": [
      file({ type: "Webhook", name: "a" }),
      "authorizers[0].webhook: Required value: required when type=Webhook",
    ],
    "settings of a webhook elsewhere": [
      file({ type: "RBAC", name: "a", webhook }),
      'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
    ],
    "no timeout": [withWebhook({ timeout: undefined }), "authorizers[0].timeout: Required value"],
    "a long timeout": [
      withWebhook({ timeout: "31s" }),
      'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s',
    ],
    "a timeout that is no time": [
      withWebhook({ timeout: "soon" }),
      'authorizers[0].timeout: Invalid value: "soon": must be > 0s and <= 30s',
    ],
    "65 authorizers": [file(...hooks(65)), "authorizers: Invalid value: 65: must have at most 64 items"],
    "65 conditions": [
      withWebhook({ matchConditions: conditions(65) }),
      "authorizers[0].matchConditions: Invalid value: 65: must have at most 64 items",
    ],
    "no type of connection": [
      withWebhook({ connectionInfo: {} }),
      "authorizers[0].connectionInfo.type: Required value",
    ],
    "another type of connection": [
      withWebhook({ connectionInfo: { type: "URL" } }),
      'authorizers[0].connectionInfo.type: Unsupported value: "URL": supported values: "InClusterConfig", "KubeConfigFile"',
    ],
    "no file": [
      withWebhook({ connectionInfo: { type: "KubeConfigFile" } }),
      "authorizers[0].connectionInfo.kubeConfigFile: Required value",
    ],
    "an empty file name": [
      withWebhook({ connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "" } }),
      "authorizers[0].connectionInfo.kubeConfigFile: Required value",
    ],
    "a negative time": [
      withWebhook({ authorizedTTL: "-1s" }),
      'authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s',
    ],
    "an empty time": [
      withWebhook({ unauthorizedTTL: "" }),
      'authorizers[0].unauthorizedTTL: Invalid value: "": must be > 0s',
    ],
    "no version": [
      withWebhook({ subjectAccessReviewVersion: undefined }),
      "authorizers[0].subjectAccessReviewVersion: Required value",
    ],
    "another version": [
      withWebhook({ subjectAccessReviewVersion: "v2" }),
      'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
    ],
    "conditions without their version": [
      withWebhook({ matchConditionSubjectAccessReviewVersion: undefined }),
      "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
    ],
    "no failure policy": [withWebhook({ failurePolicy: undefined }), "authorizers[0].failurePolicy: Required value"],
    "a relative file": [
      withWebhook({ connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "a" } }),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "a": must be an absolute path',
    ],
    "a file that is not there": [
      withWebhook({ connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/no/such" } }),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/no/such": error loading file',
    ],
    "a file in a cluster": [
      withWebhook({ connectionInfo: { type: "InClusterConfig", kubeConfigFile: "/a" } }),
      "can only be set when type=KubeConfigFile",
    ],
    "an expression twice": [
      withWebhook({ matchConditions: [{ expression: "true" }, { expression: "true" }] }),
      'authorizers[0].matchConditions[1].expression: Duplicate value: "true"',
    ],
    "an empty expression": [
      withWebhook({ matchConditions: [{ expression: " " }] }),
      "authorizers[0].matchConditions[0].expression: Required value",
    ],
    "an expression on what is not there": [
      withWebhook({ matchConditions: [{ expression: "request.name == 'a'" }] }),
      "authorizers[0].matchConditions[0].expression: Invalid value",
    ],
    "an expression that is no condition": [
      withWebhook({ matchConditions: [{ expression: "request.user" }] }),
      "must evaluate to bool",
    ],
    "a field that is unknown": [file({ type: "RBAC", name: "a", mode: 1 }), 'unknown field "authorizers[0].mode"'],
    "another kind": ["apiVersion: apiserver.config.k8s.io/v1\nkind: Config\n", "kind:"],
  };
  for (const [name, [text, fault]] of Object.entries(faults)) {
    it(`is refused with the path of the fault: ${name}`, () =>
      assert.throws(
        () => parseAuthorizationConfiguration(text),
        ({ message }: Error) => message.includes(fault) || assert.fail(message),
      ));
  }
});
