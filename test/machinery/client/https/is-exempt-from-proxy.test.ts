import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isExemptFromProxy } from "../../../../src/machinery/client/https/is-exempt-from-proxy.ts";

/** Which of the servers NO_PROXY names. */
const exempt = (noProxy: string, servers: readonly string[]): readonly string[] =>
  servers.filter((server) => isExemptFromProxy(`https://${server}`, noProxy));

describe("NO_PROXY", () => {
  it("names a host and all below it, or only those below", () => {
    const others = ["badexample.com", "example.org", "signet.example.com.test"];
    const servers = ["example.com:6443", "signet.example.com", "a.signet.example.com", ...others];
    const [host = "", ...below] = servers.slice(0, 3);
    assert.deepEqual(exempt("example.com", servers), [host, ...below]);
    assert.deepEqual(exempt(".example.com", servers), below);
    assert.deepEqual(exempt("*.example.com", servers), below);
  });

  it("names networks and addresses, of both versions", () => {
    const servers = ["10.9.8.7:6443", "11.0.0.1", "[fd00::7]:6443", "[fe80::7]"];
    assert.deepEqual(exempt("10.0.0.0/8", servers), ["10.9.8.7:6443"]);
    assert.deepEqual(exempt("FD00::/8", servers), ["[fd00::7]:6443"]);
    assert.deepEqual(exempt("11.0.0.1, FD00:0:0::7", servers), ["11.0.0.1", "[fd00::7]:6443"]);
    assert.deepEqual(exempt("0.0.0.0/0", servers), ["10.9.8.7:6443", "11.0.0.1"]);
  });

  it("may name a port, which is 443 where the server has none", () => {
    const servers = ["one.example", "one.example:6443", "10.9.8.7:6443", "[fd00::7]:6443"];
    assert.deepEqual(exempt("one.example:443", servers), ["one.example"]);
    assert.deepEqual(exempt("one.example:6443,10.9.8.7:6443,[fd00::7]:6443", servers), servers.slice(1));
  });

  it("is a list, in any case and with spaces, and * names everything", () => {
    assert.deepEqual(exempt(" a.example , ONE.Example,", ["one.example", "two.example"]), ["one.example"]);
    assert.deepEqual(exempt("a.example, *", ["one.example", "10.9.8.7", "[fd00::7]"]), [
      "one.example",
      "10.9.8.7",
      "[fd00::7]",
    ]);
  });

  it("names nothing with an entry that cannot be read", () => {
    const servers = ["one.example", "10.9.8.7", "[fd00::7]"];
    for (const entry of [
      "",
      ",",
      ":443",
      "10.0.0.0/33",
      "10.0.0.0/x",
      "10.0.0.0/8/8",
      "fd00::/129",
      "one.example/8",
      "0",
    ])
      assert.deepEqual(exempt(entry, servers), [], entry);
  });
});
