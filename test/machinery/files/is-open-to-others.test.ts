import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOpenToOthers } from "../../../src/machinery/files/is-open-to-others.ts";

const credential = "/run/credentials/signet.service/tls.key";

describe("isOpenToOthers", () => {
  it("is true for every right of the group or of others", () => {
    for (const rights of [0o040, 0o020, 0o010, 0o004, 0o002, 0o001]) {
      assert.equal(
        isOpenToOthers("/etc/signet/tls.key", { uid: 0, gid: 0, mode: 0o100600 | rights }),
        true,
        rights.toString(8),
      );
    }
    assert.equal(isOpenToOthers("/etc/signet/tls.key", { uid: 0, gid: 0, mode: 0o100600 }), false);
  });

  it("is false for a credential of systemd, which shows the service's right to read as the group's", () => {
    assert.equal(isOpenToOthers(credential, { uid: 0, gid: 0, mode: 0o100440 }), false);
  });

  it("is true for a credential with any other right, or of another user or group", () => {
    assert.equal(isOpenToOthers(credential, { uid: 0, gid: 0, mode: 0o100444 }), true);
    assert.equal(isOpenToOthers(credential, { uid: 0, gid: 0, mode: 0o100460 }), true);
    assert.equal(isOpenToOthers(credential, { uid: 1000, gid: 0, mode: 0o100440 }), true);
    assert.equal(isOpenToOthers(credential, { uid: 0, gid: 1000, mode: 0o100440 }), true);
  });

  it("takes no path that leads out of systemd's folder for a credential", () => {
    for (const path of [
      "/run/credentials/../../etc/tls.key",
      "/run/credentials-of-mine/tls.key",
      "run/credentials/tls.key",
    ])
      assert.equal(isOpenToOthers(path, { uid: 0, gid: 0, mode: 0o100440 }), true, path);
  });
});
