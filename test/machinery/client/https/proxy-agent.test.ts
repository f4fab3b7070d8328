import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoredProxy, proxyFor, proxyFault } from "../../../../src/machinery/client/https/proxy-agent.ts";

test("the proxy of the environment is said to be unused where Node.js is too old to go through one", () => {
  const environment = { HTTPS_PROXY: "http://proxy.example:3128" };
  const text = "HTTPS_PROXY is not used: Node.js 24.5 or later is needed for it, and this is v24.4.1";
  assert.equal(ignoredProxy(environment, "24.4.1"), text);
  assert.match(ignoredProxy({ https_proxy: "http://proxy.example:3128" }, "20.20.2") ?? "", /this is v20\.20\.2$/);
  assert.equal(ignoredProxy({}, "20.20.2"), undefined);
  for (const version of ["24.5.0", "26.10.0"]) assert.equal(ignoredProxy(environment, version), undefined);
  assert.equal(ignoredProxy(environment), undefined);
});

test("an empty variable for the proxy or its exceptions is none, as for kubectl: that in lower case counts", (context) => {
  const server = "https://signet.example:6443";
  const names = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] as const;
  const before = names.map((name) => [name, process.env[name]] as const);
  context.after(() => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  Object.assign(process.env, { HTTPS_PROXY: "", https_proxy: "http://proxy.example:3128", NO_PROXY: "", no_proxy: "" });
  assert.equal(proxyFor({ server }), "http://proxy.example:3128");
  process.env["no_proxy"] = "example";
  assert.equal(proxyFor({ server }), undefined);
});

test("a proxy that cannot be reached at any of its addresses is the fault of the proxy, not of the server behind it", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:3128"), {
    code: "ECONNREFUSED",
    syscall: "connect",
  });
  for (const error of [refused, Object.assign(new AggregateError([refused]), { code: "ECONNREFUSED" })]) {
    const fault = proxyFault(error);
    assert.equal((fault as NodeJS.ErrnoException).code, "ERR_PROXY_TUNNEL");
    assert.match(fault.message, /ECONNREFUSED/);
  }
});
