import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventCleaner, eventRemovalTime } from "../../../../src/features/core/events/event-cleaner.ts";
import type { Event } from "../../../../src/features/core/events/event-schema.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { ManualTime } from "../../../manual-time.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { runLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";

const event = (times: Pick<Partial<Event>, "lastTimestamp" | "series">): Event => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "worker.1", namespace: "ns", creationTimestamp: "2026-03-04T05:00:00Z" },
  involvedObject: {},
  source: {},
  firstTimestamp: "2026-03-04T05:00:00Z",
  lastTimestamp: "2026-03-04T05:00:00Z",
  eventTime: "",
  reportingComponent: "",
  reportingInstance: "",
  ...times,
});

const removed = (times: Pick<Partial<Event>, "lastTimestamp" | "series"> = {}): string =>
  new Date(eventRemovalTime(event(times))).toISOString();

describe("an event is removed", () => {
  it("an hour after it was created", () => assert.equal(removed(), "2026-03-04T06:00:00.000Z"));

  it("an hour after it was last seen", () => {
    assert.equal(removed({ lastTimestamp: "2026-03-04T05:30:00Z" }), "2026-03-04T06:30:00.000Z");
    const series = { count: 2, lastObservedTime: "2026-03-04T05:45:00.000000Z" };
    assert.equal(removed({ series }), "2026-03-04T06:45:00.000Z");
  });

  it("at most a day later, whatever its reporter's clock says", () => {
    assert.equal(removed({ lastTimestamp: "2056-03-04T05:30:00Z" }), "2026-03-05T06:00:00.000Z");
    assert.equal(removed({ lastTimestamp: "1999-03-04T05:30:00Z" }), "2026-03-04T06:00:00.000Z");
  });

  it("an hour after it was seen, where the clock was a year ahead when it was created", async () => {
    const time = new ManualTime(Date.parse("2026-03-04T05:00:00Z"));
    const [hour, year] = [3_600_000, 365 * 24 * 3_600_000];
    const server = await startTestServer({ settings: { controllers: false }, clock: time.clock });
    const events = server.client.resource(resourceReferences(platformNames).events, "default");
    const names = async () => (await events.list()).items.map(({ metadata }) => metadata.name);
    const create = (name: string) =>
      events.create({ ...event({}), eventTime: null, metadata: { name }, involvedObject: { namespace: "default" } });
    time.setClock(year);
    await create("ahead");
    time.setClock(-year);
    await create("later");
    const loop = await runLoop(server, eventCleaner, { time });
    await loop.queue.whenIdle();
    time.pass(hour - 1);
    await loop.queue.whenIdle();
    assert.deepEqual(await names(), ["ahead", "later"]);
    time.pass(1);
    await loop.queue.whenIdle();
    assert.deepEqual(await names(), []);
    await loop.stop();
    await server.stop();
  });
});
