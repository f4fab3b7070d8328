import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseYamlSettings } from "../../../../src/machinery/command-line/settings/parse-yaml-settings.ts";

describe("a file of settings", () => {
  it("may use aliases and <<, as those of Kubernetes' programs may", () => {
    const text = "first: &rule {signer: a, usages: [client auth]}\nsecond: *rule\nthird: {<<: *rule, signer: b}";
    const rule = { signer: "a", usages: ["client auth"] };
    assert.deepEqual(parseYamlSettings(text), { first: rule, second: rule, third: { ...rule, signer: "b" } });
  });

  it("is refused with a field that is there twice, and with several documents, each with its line", () => {
    assert.throws(() => parseYamlSettings("a: 1\nb: 2\na: 3"), /^Error: it has a field twice \(line 3\); remove one$/);
    assert.throws(
      () => parseYamlSettings("a: 1\n---\na: 1"),
      /^Error: it holds several documents, with --- between them \(line 2\); leave one$/,
    );
  });

  it("is refused with an alias that has no anchor, and with aliases that grow without end", () => {
    assert.throws(() => parseYamlSettings("a: *b"), /^Error: it is not YAML: Unresolved alias .+ b$/);
    const copies = (name: string): string => `[${`*${name}, `.repeat(9)}]`;
    const bomb = `a: &a [x]\nb: &b ${copies("a")}\nc: &c ${copies("b")}\nd: ${copies("c")}\n`;
    assert.throws(() => parseYamlSettings(bomb), /^Error: it is not YAML: Excessive alias count/);
  });

  it("is refused with an alias within what it stands for", () => {
    for (const text of ["&a [*a]", "rules: &rules\n  - and: *rules\n"]) {
      assert.throws(
        () => parseYamlSettings(text),
        /^Error: it is not YAML: an alias is within what it stands for; write it out$/,
      );
    }
  });
});
