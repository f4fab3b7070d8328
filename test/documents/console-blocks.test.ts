import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wordReplacer } from "./console-blocks.ts";

describe("the places of a page", () => {
  it("become those of the test and back, also when a port of the test has one of the page in it", () => {
    const shown = "etcd --client http://127.0.0.1:2379 --peer http://127.0.0.1:2380 > /etc/etcd/log";
    const run = "etcd --client http://127.0.0.1:23808 --peer http://127.0.0.1:23809 > /tmp/a.b+c/log";
    const places: [string, string][] = [
      ["2379", "23808"],
      ["2380", "23809"],
      ["/etc/etcd", "/tmp/a.b+c"],
    ];
    assert.equal(wordReplacer(places)(shown), run);
    assert.equal(wordReplacer(places.map(([own, place]) => [place, own]))(run), shown);
  });

  it("stay where they are part of a time or a hash", () => {
    const line = '"time":1795323808537,"serialNumber":"7dd3032c46c28a1723808406543b496d00b9137b"';
    assert.equal(wordReplacer([["23808", "2379"]])(line), line);
  });
});
