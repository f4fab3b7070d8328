import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceUnavailable } from "../../../src/machinery/api/api-error.ts";
import { followRegistry } from "../../../src/machinery/registry/follow-registry.ts";
import { toyBox } from "./toy-resource.ts";

test("a follower that failed on an event restarts from the current objects, and gets all later events", async () => {
  const box = await toyBox();
  const heard: string[] = [];
  let isBroken = false;
  followRegistry(box.registry, {
    onLoaded: () => void heard.push("loaded"),
    onEvent(event) {
      if (isBroken) throw serviceUnavailable("the server's copy of an object is out of date");
      heard.push(event.key.slice(event.key.lastIndexOf("/") + 1));
    },
  });
  await box.add("ball");
  isBroken = true;
  await box.add("car");
  isBroken = false;
  await box.add("doll");
  assert.deepEqual(heard, ["loaded", "ball", "loaded", "doll"]);
});
