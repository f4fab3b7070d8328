import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serverWith } from "../chain-under-test.ts";

describe("a health endpoint", () => {
  const broken = { name: "store", endpoints: ["readyz"] as const, check: () => Promise.reject(new Error("disk full")) };

  it("answers one word, or a line for each check when asked, for any method", async () => {
    const { send } = serverWith({ healthChecks: [{ name: "log", check: () => undefined }] });
    for (const line of [
      "GET /healthz",
      "POST /livez",
      "DELETE /readyz/log",
      "GET /livez/ping",
      "GET /readyz?exclude=nope",
    ]) {
      const { status, body } = await send(line);
      assert.deepEqual([status, body], [200, "ok"], line);
    }
    assert.equal((await send("GET /livez?verbose")).body, "[+]ping ok\n[+]log ok\nlivez check passed\n");
    assert.equal(
      (await send("GET /livez?verbose&exclude=log&exclude=x")).body,
      '[+]ping ok\n[+]log excluded: ok\nwarn: some health checks cannot be excluded: no matches for "x"\nlivez check passed\n',
    );
    assert.equal((await send("GET /livez/nope")).status, 404);
  });

  it("shows which check failed, and only logs the reason", async () => {
    const { send, logged } = serverWith({ healthChecks: [broken] });
    const { status, body } = await send("GET /readyz");
    assert.deepEqual([status, body], [500, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n"]);
    assert.equal((await send("GET /livez")).status, 200);
    assert.equal((await send("GET /readyz?exclude=store")).status, 200);
    assert.equal((await send("GET /readyz/store")).status, 500);
    assert.equal(logged.length, 1);
  });
});
