import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { passedSocket, serviceManager } from "../../src/machinery/service-manager.ts";

const variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"];
const given = (values: Readonly<Record<string, string>>): void => void Object.assign(process.env, values);

afterEach(() => {
  for (const name of variables) delete process.env[name];
});

describe("the socket that a service manager passes to a process", () => {
  it("is removed from the environment, so that no child process can use it", () => {
    given({
      LISTEN_PID: String(process.pid),
      LISTEN_FDS: "1",
      LISTEN_FDNAMES: "signet.socket",
      NOTIFY_SOCKET: "/nowhere/notify",
    });
    // The descriptor of that number is something else in this process.
    assert.throws(() => passedSocket(), { name: "UsageError", message: /descriptor 3 is not a socket/ });
    serviceManager({ error: () => {} });
    assert.deepEqual(
      variables.filter((name) => process.env[name] !== undefined),
      [],
    );
  });

  it("is undefined when it was passed to another process, or there is none", () => {
    given({ LISTEN_PID: String(process.pid + 1), LISTEN_FDS: "1" });
    assert.equal(passedSocket(), undefined);
    given({ LISTEN_PID: String(process.pid), LISTEN_FDS: "0" });
    assert.equal(passedSocket(), undefined);
    assert.equal(passedSocket(), undefined);
  });

  it("is refused when it is more than one socket", () => {
    given({ LISTEN_PID: String(process.pid), LISTEN_FDS: "2" });
    assert.throws(() => passedSocket(), { name: "UsageError", message: /passed 2 sockets/ });
  });
});

describe("notifying a service manager", () => {
  it("does nothing without a service manager", () => {
    const manager = serviceManager({ error: () => assert.fail("without a service manager, nothing can fail") });
    manager.ready();
    manager.stopping();
  });

  it("logs a failure when the service manager does not listen, without a stack", async () => {
    given({ NOTIFY_SOCKET: "/nowhere/notify" });
    const { promise, resolve } = Promise.withResolvers<object>();
    serviceManager({ error: (fields) => resolve(fields) }).ready();
    const fields = new Map<string, unknown>(Object.entries(await promise));
    assert.equal(fields.get("word"), "READY=1");
    assert.match(String(fields.get("reason")), /^systemd-notify ended with \d+$|^spawn systemd-notify ENOENT$/);
  });
});
