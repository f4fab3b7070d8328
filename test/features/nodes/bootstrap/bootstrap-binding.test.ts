import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  bindingFault,
  bootstrapBinding,
  isNodePattern,
} from "../../../../src/features/nodes/bootstrap/bootstrap-binding.ts";
import type { BootstrapQuestion } from "../../../../src/features/nodes/bootstrap/bootstrap-binding.ts";

const asked: BootstrapQuestion = {
  commonName: "system:node:n1",
  key: "first-key",
  isJoining: true,
  nodeExists: false,
};

/** Why a token with these texts in its Secret is not good for a request. */
function faultOf(texts: Readonly<Record<string, string>>, question: Partial<BootstrapQuestion> = {}): string {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  const binding = bootstrapBinding({ apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data });
  return bindingFault(binding, { ...asked, ...question }) ?? "";
}

describe("what a bootstrap token is bound to", () => {
  it("is nothing unless its Secret says so, and then it is good for other certificates too", () => {
    for (const texts of [{}, { "one-use": "false", "used-by-key": "other" }, { "one-use": "yes" }]) {
      assert.equal(faultOf(texts), "");
      assert.equal(faultOf(texts, { commonName: "alice" }), "");
      assert.equal(faultOf(texts, { isJoining: false }), "");
    }
  });

  it("is a node's client certificate, when it is for some nodes or for one use", () => {
    for (const texts of [{ "node-names": "*" }, { "one-use": "true" }]) {
      assert.equal(faultOf(texts), "");
      assert.match(faultOf(texts, { commonName: "alice" }), /only for the client certificate of a node$/);
      assert.match(faultOf(texts, { isJoining: false }), /only for the client certificate of a node$/);
    }
  });

  it("is the nodes whose names match its pattern, which has at most one wildcard", () => {
    const matches = (pattern: string, node: string): boolean =>
      faultOf({ "node-names": pattern }, { commonName: `system:node:${node}` }) === "";
    for (const [pattern, good, bad] of [
      ["n1", ["n1"], ["n11", "n", "an1"]],
      ["n*", ["n", "n1", "n.a"], ["an", "m1"]],
      ["*.example.com", ["a.example.com", "a.b.example.com"], ["example.com", "a.example.com.evil"]],
      ["ab*ba", ["abba", "ab1ba"], ["aba", "ab", "abb"]],
      ["*", ["n1"], []],
      ["a*b*c", [], ["abc", "a*b*c"]],
      ["N1", [], ["N1", "n1"]],
      ["", [], ["n1"]],
    ] as const) {
      for (const node of good) assert.ok(matches(pattern, node), `${pattern} ${node}`);
      for (const node of bad) assert.ok(!matches(pattern, node), `${pattern} ${node}`);
    }
    assert.equal(faultOf({ "node-names": "m*" }), 'this bootstrap token is for "m*", not for "n1"');
  });

  it("is the key and the node that have used it, when it is for one use", () => {
    const spent = { "one-use": "true", "used-by-key": "first-key", "used-by-node": "n1" };
    assert.equal(faultOf(spent), "");
    assert.match(faultOf(spent, { key: "second-key" }), /another key has used it/);
    assert.match(faultOf(spent, { commonName: "system:node:n2" }), /another key has used it/);
    assert.match(faultOf({ ...spent, "used-by-node": "" }), /another key has used it/);
  });

  it("is no node that there is already, unless its Secret allows that", () => {
    assert.match(faultOf({}, { nodeExists: true }), /^there is a Node "n1" already: /);
    assert.match(faultOf({ "allow-existing-node": "yes" }, { nodeExists: true }), /^there is a Node "n1" already: /);
    assert.equal(faultOf({ "allow-existing-node": "true" }, { nodeExists: true }), "");
  });
});

it("a pattern of nodes has at most the length of a name", () => {
  assert.ok(isNodePattern("a".repeat(253)));
  assert.ok(!isNodePattern("a".repeat(254)));
  for (const pattern of ["-a", "a-", ".a", "a_b", "a b", "**"]) assert.ok(!isNodePattern(pattern), pattern);
});
