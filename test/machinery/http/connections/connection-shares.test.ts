import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConnectionShares } from "../../../../src/machinery/http/connections/connection-shares.ts";
import type { SharePath } from "../../../../src/machinery/scheduling/share-path.ts";

const ada: SharePath = ["others", "others/ada"];
const bob: SharePath = ["others", "others/bob"];
const [office, home] = ["10.0.0.1", "10.0.0.2"];

describe("the connections of a named user", () => {
  it("are three quarters of those of an address that others leave, and are given back one by one", () => {
    const shares = new ConnectionShares({ connections: 100, connectionsPerAddress: 4 });
    const taken = [shares.take(office, ada), shares.take(office, ada), shares.take(office, ada)];
    assert.ok(taken.every((giveBack) => giveBack !== undefined));
    assert.equal(shares.take(office, ada), undefined);
    taken[0]?.();
    assert.ok(shares.take(office, ada));
    assert.equal(shares.take(office, ada), undefined, "two are still there");
    assert.ok(shares.take(office, bob));
    assert.ok(shares.take(home, ada));
  });

  it("are three quarters of all that others leave, whatever addresses they come from", () => {
    const shares = new ConnectionShares({ connections: 4, connectionsPerAddress: 4 });
    const addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    const taken = addresses.map((address) => shares.take(address, ada));
    assert.equal(shares.take("10.0.0.4", ada), undefined);
    taken[1]?.();
    assert.ok(shares.take("10.0.0.4", ada));
    assert.equal(shares.take("10.0.0.5", ada), undefined);
  });
});
