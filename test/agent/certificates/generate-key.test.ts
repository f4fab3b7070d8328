import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generateKey } from "../../../src/agent/certificates/generate-key.ts";
import { keyTypeOf, keyTypes, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";

const never = new AbortController().signal;

describe("the agent's new keys", () => {
  it("have the type that is asked for", async () => {
    for (const type of keyTypes) assert.equal(keyTypeOf(publicKeyInfoOf(await generateKey(type, never))), type);
  });

  it("of RSA are made one after the other, and those of other types at once", async () => {
    const order: string[] = [];
    await Promise.all([
      generateKey("RSA 4096", never).then(() => order.push("first")),
      generateKey("RSA 2048", never).then(() => order.push("second")),
      generateKey("ECDSA P-256", never).then(() => order.push("of another type")),
    ]);
    assert.deepEqual(order, ["of another type", "first", "second"]);
  });

  it("are not made when nobody wants them any more, and do not hold up others", async () => {
    const stop = new AbortController();
    const running = generateKey("RSA 2048", stop.signal);
    const waiting = generateKey("RSA 2048", stop.signal);
    const wanted = generateKey("RSA 2048", never);
    stop.abort();
    await assert.rejects(running, { name: "AbortError" });
    await assert.rejects(waiting, { name: "AbortError" });
    assert.equal((await wanted).asymmetricKeyType, "rsa");
  });
});
