import assert from "node:assert/strict";
import { it } from "node:test";
import { accessDenied } from "../../../src/machinery/api/access-denied.ts";

const user = { username: "alice", groups: [], extra: {} };
const pods = {
  kind: "resource",
  user,
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "web",
} as const;

it("a denial names the user, the verb, the resource, the namespace and the reason", () => {
  const text = (attributes: Parameters<typeof accessDenied>[0], reason = ""): string =>
    accessDenied(attributes, reason).message;
  assert.equal(
    text(pods, "because"),
    'pods "web" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "ns": because',
  );
  assert.equal(
    text({ ...pods, subresource: "status", namespace: "", name: "", group: "g" }),
    'pods.g is forbidden: User "alice" cannot get resource "pods/status" in API group "g" at the cluster scope',
  );
  assert.equal(text({ kind: "path", user, verb: "get", path: "/x" }), 'forbidden: User "alice" cannot get path "/x"');
});

it("a refusal shows characters that cannot be printed in hexadecimal digits, as Go quotes them", () => {
  const path = { kind: "path", user, verb: "get", path: "/a\0\x7f\u200b" } as const;
  assert.equal(accessDenied(path, "").message, 'forbidden: User "alice" cannot get path "/a\\x00\\x7f\\u200b"');
});

it("a refusal shows names as text, not as markup", () => {
  const path = { kind: "path", user, verb: "get", path: "/<script>&" } as const;
  assert.equal(accessDenied(path, "").message, 'forbidden: User "alice" cannot get path "/&lt;script&gt;&amp;"');
});
