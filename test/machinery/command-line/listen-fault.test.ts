import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listenFault, tryListening } from "../../../src/machinery/command-line/listen-fault.ts";

const faultAt = (host: string, port = 0): Promise<string | undefined> =>
  tryListening({ host, port }).then(() => "it listens", listenFault);

describe("the fault of an address to listen on", () => {
  it("is undefined for an address that the program may listen on", async () => {
    assert.equal(await faultAt("127.0.0.1"), "it listens");
  });

  it("names an address that the machine does not have, and a name that cannot be looked up", async () => {
    assert.match((await faultAt("192.0.2.1", 7)) ?? "", /^this machine has no address 192\.0\.2\.1:7; choose one/);
    assert.match((await faultAt("nowhere.invalid")) ?? "", /^this machine has no address nowhere\.invalid; choose one/);
  });

  it("tells who writes an IPv6 address as in a URL to leave the brackets out", async () => {
    assert.match((await faultAt("[::1]")) ?? "", /^this machine has no address \[::1\]; write it without brackets \(/);
  });

  it("tells who gives a link-local address of IPv6 to choose another", () => {
    const fault = { syscall: "listen", code: "EINVAL", address: "fe80::1", port: 7 };
    assert.match(
      listenFault(Object.assign(new Error("listen EINVAL"), fault)) ?? "",
      /^fe80::1:7 is an address of one link only; choose another one of this machine \(/,
    );
  });

  it("is undefined for other errors", () => {
    assert.equal(
      listenFault(Object.assign(new Error("gone"), { syscall: "connect", code: "ECONNREFUSED" })),
      undefined,
    );
    assert.equal(listenFault("text"), undefined);
  });
});
