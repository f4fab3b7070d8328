import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { events } from "../../../../src/features/core/events/events.ts";
import type { Event } from "../../../../src/features/core/events/event-schema.ts";
import { cells, faultsOfNew, names, now } from "../../resource-scene.ts";

const definition = events(names);

const event: Event = {
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "worker.1", namespace: "ns", creationTimestamp: "2026-03-04T05:00:00Z" },
  involvedObject: { kind: "Pod", namespace: "ns", name: "worker" },
  reason: "Pulled",
  message: " Image pulled\n",
  type: "Normal",
  source: { component: "agent", host: "edge-1" },
  firstTimestamp: "2026-03-04T04:06:07Z",
  lastTimestamp: "2026-03-04T05:06:00Z",
  count: 3,
  eventTime: null, // what decoding makes of an absent time
  reportingComponent: "",
  reportingInstance: "",
};

const reported: Event = {
  ...event,
  eventTime: "2026-03-04T05:06:00.000000Z",
  reportingComponent: "example.com/agent",
  reportingInstance: "agent-1",
  action: "Pulling",
};

describe("an event", () => {
  it("is in the namespace of the object that it is about", () => {
    assert.deepEqual(faultsOfNew(definition, event), []);
    const fault = 'involvedObject.namespace: Invalid value: "other": does not match event.namespace';
    const about = (namespace: string): Event => ({ ...event, involvedObject: { ...event.involvedObject, namespace } });
    assert.deepEqual(faultsOfNew(definition, about("other")), [fault]);
    assert.deepEqual(faultsOfNew(definition, about("")), [fault.replace('"other"', '""')]);
  });

  it("must name its reporter when it has an eventTime", () => {
    assert.deepEqual(faultsOfNew(definition, reported), []);
    assert.deepEqual(faultsOfNew(definition, { ...reported, reportingInstance: "", action: "" }), [
      "reportingInstance: Required value",
      "action: Required value",
    ]);
    assert.deepEqual(faultsOfNew(definition, { ...reported, message: "x".repeat(1025) }), [
      'message: Invalid value: "": can have at most 1024 characters',
    ]);
  });

  it("shows in a table when it was seen, and its object", () => {
    assert.deepEqual(cells(definition, event), [
      "7s",
      "Normal",
      "Pulled",
      "pod/worker",
      "",
      "agent, edge-1",
      "Image pulled",
      "60m",
      3,
      "worker.1",
    ]);
    assert.equal(
      definition.columns[0]?.cell({ ...reported, lastTimestamp: null, firstTimestamp: null }, { now }),
      "7s",
    );
  });

  it("shows in a table the kind of an object without a name, and the host of a source without a component", () => {
    const [, , , object, , source] = cells(definition, {
      ...event,
      involvedObject: { kind: "Node", namespace: "ns" },
      source: { host: "edge-1" },
    });
    assert.deepEqual([object, source], ["node", ", edge-1"]);
    assert.equal(cells(definition, { ...reported, source: { component: "" } })[5], "example.com/agent, agent-1");
  });

  it("shows in a table only what its series says, once it has one", () => {
    const [seen, , , , , , , , count] = cells(definition, { ...event, series: {} } as Event);
    assert.deepEqual([seen, count], ["<unknown>", 0]);
  });
});
