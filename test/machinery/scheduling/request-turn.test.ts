import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import {
  connectionAccepted,
  pauseInTurn,
  requestTurn,
  requestTurnOfAddress,
} from "../../../src/machinery/scheduling/request-turn.ts";
import { addressPath } from "../../../src/machinery/scheduling/share-path.ts";
import { takeTurnForEachLook } from "../../turns-during.ts";
import { turnsOfRequests } from "./turns-of-requests.ts";

const named = (username: string): UserInfo => ({ username, groups: [], extra: {} });

describe("the turns of long requests", () => {
  it("rotate between users, however many requests one of them sends", async () => {
    const order: string[] = [];
    const users = ["flood", "flood", "flood", "alice", "bob", "alice"];
    await Promise.all(users.map((user) => requestTurn(named(user)).then(() => order.push(user))));
    assert.deepEqual(order, ["flood", "alice", "bob", "flood", "alice", "flood"]);
  });

  it("begin when the previous request has ended or waits for something", async () => {
    const order: string[] = [];
    const { promise: other, resolve } = Promise.withResolvers<void>();
    const run = async (name: string): Promise<void> => {
      await requestTurn(named("alice"));
      for (const step of ["begins", "continues", "waits"]) {
        order.push(`${name} ${step}`);
        await Promise.resolve();
      }
      if (name === "two") resolve();
      await other;
      order.push(`${name} ends`);
    };
    await Promise.all([run("one"), run("two")]);
    const steps = (name: string): string[] => ["begins", "continues", "waits"].map((step) => `${name} ${step}`);
    assert.deepEqual(order.slice(0, 6), [...steps("one"), ...steps("two")]);
    assert.equal(order.length, 8);
  });

  it("are interrupted when they are over, and continue before others begin", async (t) => {
    await nextTurn(); // the turns of other tests end
    takeTurnForEachLook(t);
    const order: string[] = [];
    const run = async (name: string): Promise<void> => {
      await requestTurn(named("alice"));
      order.push(`${name} begins`);
      setImmediate(() => order.push("another"));
      await pauseInTurn();
      order.push(`${name} continues`);
    };
    await Promise.all([run("one"), run("two")]);
    assert.deepEqual(order, ["one begins", "another", "one continues", "two begins", "another", "two continues"]);
  });

  it("are every other one where requests of addresses wait, which take turns too", async (t) => {
    await nextTurn(); // the turns of other tests end
    takeTurnForEachLook(t);
    const users = ["alice", "alice", "bob"].map(async (user) => {
      await requestTurn(named(user));
      return user;
    });
    const addresses = ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map(async (address) => {
      await requestTurnOfAddress(addressPath(address));
      return address;
    });
    const order: string[] = [];
    await Promise.all([...users, ...addresses].map(async (turn) => order.push(await turn)));
    const ofAddresses = order.map((name) => name.startsWith("192."));
    assert.ok(
      ofAddresses.slice(1).every((isOfAddress, index) => isOfAddress !== ofAddresses[index]),
      order.join(),
    );
    assert.deepEqual(
      order.toSorted((one, other) => Number(one.startsWith("192.")) - Number(other.startsWith("192."))),
      ["alice", "bob", "alice", "192.0.2.1", "192.0.2.2", "192.0.2.1"],
    );
  });

  it("are short every other 5 ms while connections come, of which each turn of the event loop accepts one", async (t) => {
    await nextTurn(); // the turns of other tests end
    const turns = turnsOfRequests(t);
    const ofThreeWithConnection = (): Promise<number> => (connectionAccepted(), turns.ofThree());
    assert.equal(await ofThreeWithConnection(), 1);
    await turns.useUp();
    assert.equal(await ofThreeWithConnection(), 3);
    turns.pass(4);
    assert.equal(await ofThreeWithConnection(), 3);
    turns.pass(1);
    assert.equal(await ofThreeWithConnection(), 1);
    turns.pass(5);
    await turns.useUp();
    assert.equal(await turns.ofThree(), 1, "no connection came");
  });

  it("do not interrupt what has none", async () => {
    await nextTurn();
    assert.equal(pauseInTurn(), undefined);
  });
});
