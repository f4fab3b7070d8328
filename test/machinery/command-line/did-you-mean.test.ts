import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean } from "../../../src/machinery/command-line/did-you-mean.ts";

const known = ["secure-port", "bind-address", "data-dir", "log-level", "port"];

test("a name is near when its case and separators alone differ, or up to two letters", () => {
  const meant: [string, string][] = [
    ["securePort", "secure-port"],
    ["secure_port", "secure-port"],
    ["secure-prot", "secure-port"],
    ["scure-prt", "secure-port"],
    ["bind-adress", "bind-address"],
    ["datadirs", "data-dir"],
    ["prot", "port"],
    ["Port", "port"],
  ];
  for (const [name, nearest] of meant) assert.equal(didYouMean(name, known), ` (did you mean ${nearest}?)`, name);
});

test("the nearest of several is named, and none when all are far", () => {
  assert.equal(didYouMean("ports", ["sports", "port", "parts"]), " (did you mean sports?)");
  assert.equal(didYouMean("port2", ["secure-port", "ports"]), " (did you mean ports?)");
  for (const name of ["", "x", "listen", "part12", "secure", "p".repeat(10_000)]) {
    assert.equal(didYouMean(name, known), "", name.slice(0, 10));
  }
});
