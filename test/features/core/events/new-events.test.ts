import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiRequester } from "../../../profiles/api-request.ts";

const core = "/api/v1/namespaces/default/events";
const regarding = { kind: "Pod", name: "p", namespace: "default" };
const fields = {
  eventTime: "2026-01-02T03:04:05.000000Z",
  regarding,
  reportingController: "example.com/recorder",
  reportingInstance: "recorder-1",
  action: "Starting",
  reason: "Started",
  type: "Normal",
  note: "Started it.",
};
const apply = { "content-type": "application/apply-patch+yaml" };
const merge = { "content-type": "application/merge-patch+json" };

for (const group of ["events.k8s.io", "events.platform.io"]) {
  describe(`an event of ${group}`, () => {
    let api: ApiRequester;
    before(async () => {
      api = await ApiRequester.toNewServer();
    });
    after(() => api.stop());
    const collection = `/apis/${group}/v1/namespaces/default/events`;
    const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const { status, bytes } = await api.send({ method, path, headers, ...(body !== undefined && { body }) });
      return { status, text: bytes.toString(), object: JSON.parse(bytes.toString()) };
    };
    const create = (name: string, more: object = {}) =>
      send("POST", collection, { metadata: { name }, ...fields, ...more });

    it("has the core group's Go type in messages, as it is stored there", async () => {
      const { object } = await send("POST", collection, { kind: "Status", apiVersion: "v1" });
      assert.match(object.message, /converting \(v1\.Status\) to \(core\.Event\): unknown conversion$/);
    });

    it("is served as an event of the core group under that group's field names, and the reverse", async () => {
      const created = await create("both");
      assert.equal(created.status, 201, created.text);
      const { metadata, kind, apiVersion, ...content } = created.object;
      assert.deepEqual([kind, apiVersion], ["Event", `${group}/v1`]);
      assert.deepEqual(content, {
        ...fields,
        deprecatedSource: {},
        deprecatedFirstTimestamp: null,
        deprecatedLastTimestamp: null,
      });
      const old = (await send("GET", `${core}/both`)).object;
      assert.equal(old.message, fields.note);
      assert.deepEqual(old.involvedObject, regarding);
      assert.equal(old.reportingComponent, fields.reportingController);
      assert.equal(old.metadata.uid, metadata.uid);
      assert.deepEqual(old.metadata.managedFields, metadata.managedFields);

      const legacy = {
        metadata: { name: "old" },
        involvedObject: regarding,
        reason: "R",
        message: "m",
        type: "Normal",
        count: 3,
        source: { component: "c" },
        firstTimestamp: "2026-01-01T00:00:00Z",
      };
      assert.equal((await send("POST", core, legacy)).status, 201);
      const shown = (await send("GET", `${collection}/old`)).object;
      assert.deepEqual(
        [
          shown.note,
          shown.deprecatedCount,
          shown.deprecatedSource,
          shown.deprecatedFirstTimestamp,
          shown.reportingController,
        ],
        ["m", 3, { component: "c" }, "2026-01-01T00:00:00Z", undefined],
      );
      const { items, kind: listKind } = (await send("GET", collection)).object;
      assert.equal(listKind, "EventList");
      assert.ok(items.every((item: object) => "regarding" in item && !("involvedObject" in item) && !("kind" in item)));
    });

    it("has the count of its series, which an event of the core group may leave out", async () => {
      const series = { lastObservedTime: "2026-01-01T00:00:00.000000Z" };
      const event = { metadata: { name: "uncounted", namespace: "default" }, involvedObject: regarding, series };
      const created = await send("POST", core, event);
      assert.equal(created.status, 201, created.text);
      assert.deepEqual((await send("GET", `${core}/uncounted`)).object.series, series);

      const counted = { count: 0, ...series };
      assert.deepEqual((await send("GET", `${collection}/uncounted`)).object.series, counted);
      const { items } = (await send("GET", `${collection}?fieldSelector=metadata.name=uncounted`)).object;
      assert.deepEqual(items[0].series, counted);
    });

    it("is selected by its own fields", async () => {
      await create("selected", { regarding: { ...regarding, name: "chosen" } });
      const found = await send(
        "GET",
        `${collection}?fieldSelector=regarding.name%3Dchosen,reportingController%3D${encodeURIComponent(fields.reportingController)}`,
      );
      assert.deepEqual(
        found.object.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
        ["selected"],
      );
      assert.equal((await send("GET", `${collection}?fieldSelector=involvedObject.name%3Dx`)).status, 400);
      assert.equal((await send("GET", `${core}?fieldSelector=regarding.name%3Dx`)).status, 400);
    });

    it("must be complete, and may change only its series", async () => {
      for (const [more, fault] of [
        [{ eventTime: null }, /eventTime: Required value/],
        [{ type: "Odd" }, /type: Invalid value/],
        [{ deprecatedCount: 1 }, /count: Invalid value: "": needs to be unset/],
        [{ deprecatedSource: { component: "c" } }, /source: Invalid value: "": needs to be unset/],
        [{ reportingController: "" }, /reportingController: Required value/],
        [
          { series: { count: 1, lastObservedTime: fields.eventTime } },
          /series.count: Invalid value: "": should be at least 2/,
        ],
      ] as const) {
        const { status, object } = await create("wrong", more);
        assert.equal(status, 422);
        assert.match(object.message, fault);
      }
      await create("fixed");
      const series = { count: 2, lastObservedTime: fields.eventTime };
      const repeated = await send("PATCH", `${collection}/fixed`, { series }, merge);
      assert.deepEqual(repeated.object.series, series, repeated.text);
      const changed = await send("PATCH", `${collection}/fixed`, { note: "another" }, merge);
      assert.match(changed.object.message, /message: Invalid value: "another": field is immutable/);
      const moved = await send("PATCH", `${collection}/fixed`, { regarding: { name: "q" } }, merge);
      const reference =
        '{"Kind":"Pod","Namespace":"default","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}';
      assert.ok(moved.object.message.includes(`involvedObject: Invalid value: ${reference}: field is immutable`));
      const twice = await send("PATCH", `${collection}/fixed`, { reason: "R", type: "Warning" }, merge);
      assert.deepEqual(
        twice.object.details.causes.map(({ field }: { field: string }) => field),
        ["reason", "reason", "type"],
      );
      assert.equal(twice.object.message.match(/reason: /g).length, 1);
      assert.equal((await send("PATCH", `${core}/fixed`, { message: "another" }, merge)).status, 200, "as upstream");
    });

    it("is applied and patched under the names of its group", async () => {
      const body = { apiVersion: `${group}/v1`, kind: "Event", metadata: { name: "applied" }, ...fields };
      const path = `${collection}/applied?fieldManager=one`;
      assert.equal((await send("PATCH", path, body, apply)).status, 201);
      const again = await send("PATCH", path, body, apply);
      assert.equal(again.status, 200, again.text);
      const mine = { ...body, note: "mine" };
      const conflict = await send("PATCH", `${collection}/applied?fieldManager=two`, mine, apply);
      assert.equal(conflict.status, 409);
      assert.match(conflict.object.message, /conflict with "one": \.note$/);
      const unknown = await send("PATCH", path, { ...body, message: "a name of the core group" }, apply);
      assert.equal(unknown.status, 422);
      assert.match(unknown.object.message, /message: Invalid value: field not declared in schema/);
      const nameless = await send("PATCH", path, { ...body, metadata: { name: 7 } }, apply);
      assert.equal(nameless.status, 422, nameless.text);
      assert.match(nameless.object.message, /metadata\.name: Invalid value/);
      const sent = await send("POST", `${collection}?fieldValidation=Strict`, {
        metadata: { name: "x" },
        ...fields,
        message: "m",
      });
      assert.match(sent.object.message, /unknown field "message"/);
      const replaced = await send(
        "PATCH",
        `${collection}/applied`,
        [
          { op: "test", path: "/note", value: fields.note },
          { op: "add", path: "/metadata/labels", value: { a: "b" } },
        ],
        { "content-type": "application/json-patch+json" },
      );
      assert.deepEqual(replaced.object.metadata.labels, { a: "b" }, replaced.text);
    });

    it("is owned under the names of the group that it is written in", async () => {
      type Owned = readonly [apiVersion: string, fields: string];
      // By manager: entries of one second are in the order of the managers' names.
      const owned = ({ object }: Awaited<ReturnType<typeof send>>): Readonly<Record<string, Owned>> =>
        Object.fromEntries(
          object.metadata.managedFields.map(
            ({ manager, apiVersion, fieldsV1 }: { manager: string; apiVersion: string; fieldsV1: object }) => [
              manager,
              [apiVersion, Object.keys(fieldsV1).join(" ").replaceAll("f:", "")],
            ],
          ),
        );
      const own = "reportingController reportingInstance type";
      assert.deepEqual(owned(await create("owned")), {
        unknown: [`${group}/v1`, `action eventTime note reason regarding ${own}`],
      });
      const series = { count: 2, lastObservedTime: fields.eventTime };
      assert.deepEqual(owned(await send("PATCH", `${collection}/owned?fieldManager=new`, { series }, merge)), {
        unknown: [`${group}/v1`, `action eventTime note reason regarding ${own}`],
        new: [`${group}/v1`, "series"],
      });
      // Neither the core group nor this one knows the other's owners.
      const changed = await send("PATCH", `${core}/owned?fieldManager=old`, { message: "changed" }, merge);
      assert.deepEqual(owned(changed), { old: ["v1", "message"] });
      // Applied in one group, then in the other: the same manager, with the names that it used last.
      const body = { apiVersion: `${group}/v1`, kind: "Event", metadata: { name: "moved" }, ...fields };
      const first = await send("PATCH", `${collection}/moved?fieldManager=one`, body, apply);
      const { note: message, regarding: involvedObject, reportingController: reportingComponent, ...same } = fields;
      const old = { ...same, message, involvedObject, reportingComponent, apiVersion: "v1", kind: "Event" };
      const moved = await send("PATCH", `${core}/moved?fieldManager=one`, { ...old, metadata: body.metadata }, apply);
      assert.equal(moved.status, 200, moved.text);
      const renamed = "action eventTime involvedObject message reason reportingComponent reportingInstance type";
      assert.deepEqual(owned(moved), { one: ["v1", renamed] });
      // Nothing changed, so the time of the first apply stays.
      const times = [first, moved].map(({ object }) => object.metadata.managedFields?.[0]?.time);
      assert.ok(times[0] !== undefined && times[0] === times[1], times.join());
    });

    it("needs a permission of its own, as in upstream", async () => {
      const rules = [{ verbs: ["create"], apiGroups: [""], resources: ["events"] }];
      await send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "recorder" }, rules });
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "recorder" };
      await send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: "recorder" },
        roleRef,
        subjects: [{ kind: "User", name: "rec" }],
      });
      const may = async (role: string, verb: string, apiGroup: string): Promise<boolean> => {
        const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`;
        const found = (await send("GET", path)).object.rules as Record<"apiGroups" | "resources" | "verbs", string[]>[];
        return found.some(
          ({ apiGroups, resources, verbs }) =>
            apiGroups.includes(apiGroup) && resources.includes("events") && verbs.includes(verb),
        );
      };
      for (const own of ["", "events.platform.io"]) {
        assert.ok((await may("view", "list", own)) && (await may("edit", "create", own)), own);
        assert.ok(!(await may("view", "create", own)));
      }
      const as = { "impersonate-user": "rec" };
      assert.equal((await send("POST", collection, { metadata: { name: "r" }, ...fields }, as)).status, 403);
      await send(
        "PATCH",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/recorder",
        { rules: [{ ...rules[0], apiGroups: ["events.k8s.io"] }] },
        merge,
      );
      assert.equal((await send("POST", collection, { metadata: { name: "r" }, ...fields }, as)).status, 201);
    });
  });
}
