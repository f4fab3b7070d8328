import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ApiError, unauthorized } from "../../../../src/machinery/api/api-error.ts";
import type { HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { defineReview } from "../../../../src/machinery/registry/definition/review-definition.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { apiError, toys } from "../../registry/toy-resource.ts";
import type { Toy } from "../../registry/toy-resource.ts";
import { scene, table } from "./handler-under-test.ts";
import type { Sent, Answer } from "./handler-under-test.ts";

const json = ({ body }: HttpResponse): Answer => JSON.parse(String(body)) as Answer;

const partial = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };

const partialList = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };

describe("an object", () => {
  it("is answered without a promise, as the text that is stored", async () => {
    const { box, send } = await scene();
    const stored = await box.add("bear", { color: "red" });
    const first = await send("/bear");
    assert.equal(first.body, `${stored.text}\n`);
    assert.equal((await send("/bear")).body, first.body);
    assert.deepEqual(json(first), stored.object);
  });

  it("is served as YAML, protobuf, metadata and table", async () => {
    const { box, send } = await scene();
    await box.add("bear", { color: "red" });
    assert.match(String((await send("/bear", { headers: { accept: "application/yaml" } })).body), /^apiVersion: toys/);
    const protobuf = await send("/bear", { headers: { accept: "application/vnd.kubernetes.protobuf" } });
    assert.equal(String((protobuf.body as Buffer).subarray(0, 3)), "k8s");
    assert.equal(json(await send("/bear", { headers: partial })).kind, "PartialObjectMetadata");
    const { rows, columnDefinitions } = json(await send("/bear?includeObject=None", { headers: table }));
    assert.deepEqual(rows, [{ cells: ["bear", "red"], object: null }]);
    assert.deepEqual(
      columnDefinitions?.map(({ name }) => name),
      ["Name", "Color"],
    );
    await assert.rejects(send("/bear", { headers: partialList }), apiError(406, "is not a list"));
    await assert.rejects(send("/bear?includeObject=x", { headers: table }), apiError(400, "includeObject"));
  });

  it("that does not exist is a 404", async () => {
    const { send } = await scene();
    await assert.rejects(send("/bear"), apiError(404, 'toys.toys.example.com "bear" not found'));
  });
});

describe("a review", () => {
  it("that is long is answered in several turns of the event loop", async (t) => {
    const look = defineReview<Toy>({ ...toys, kind: "Look", create: async (object) => ({ object }) });
    const { send } = await scene({ reviews: [look] });
    const body = JSON.stringify({ color: "x".repeat(3000) });
    t.mock.method(
      performance,
      "now",
      (
        (milliseconds) => () =>
          (milliseconds += 10)
      )(0),
    );
    const turns = await turnsDuring(async () => {
      assert.equal((await send("", { plural: "looks", method: "POST", body })).status, 201);
    });
    assert.equal(turns, 5, "before it is read, decoded, tracked and shown, and before it is decided");
  });
});

describe("a list", () => {
  it("joins its items, which carry no kind and apiVersion", async () => {
    const { box, send } = await scene();
    assert.deepEqual(json(await send("")).items, []);
    const { object } = await box.add("bear");
    await box.add("wolf");
    const list = json(await send("?limit=1"));
    const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
    assert.deepEqual(list.items, [item]);
    assert.equal(list.kind, "ToyList");
    assert.equal(list.metadata.remainingItemCount, 1);
    assert.equal(json(await send("", { headers: { accept: "application/json;pretty=1" } })).items?.length, 2);
  });

  it("has the same form as upstream's when it is empty", async () => {
    const { send } = await scene();
    assert.equal(json(await send("", { headers: partialList })).items, null);
    assert.deepEqual(json(await send("", { headers: table })).rows, []);
    assert.equal((await send("", { headers: partial })).status, 406);
  });
});

describe("a long object", () => {
  it("is written as YAML in turns, in the answer to a read and to a write", async (context) => {
    const { box, send } = await scene();
    const color = "red".repeat(10_000);
    await box.add("bear", { color });
    const yaml = { headers: { accept: "application/yaml" } };
    const body = JSON.stringify({ metadata: { name: "bear", labels: { a: "b" } }, color });
    await send("/bear", { method: "PUT", body }); // later ones change nothing: no turns pass while the store writes
    await nextTurn(); // the turns of other tests end
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each line takes as long as a turn
    for (const sent of [yaml, { ...yaml, method: "PUT", body }]) {
      const jsonTurns = await turnsDuring(() => send("/bear", { ...sent, headers: {} }));
      const yamlTurns = await turnsDuring(async () => {
        const { status, body: written } = await send("/bear", sent);
        assert.deepEqual([status, String(written).split(":")[0]], [200, "apiVersion"]);
      });
      assert.ok(yamlTurns >= jsonTurns + 8, `${yamlTurns} turns, of JSON ${jsonTurns}`);
    }
  });
});

describe("an apply of a long configuration", () => {
  it("lets others in between its steps, also one of the server's own loops", async (context) => {
    const { send } = await scene();
    const apiVersion = "toys.example.com/v1";
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    const headers = { "content-type": "application/apply-patch+yaml" };
    for (const [name, inProcess] of [["bear"], ["wolf", { value: undefined, transaction: undefined }]] as const) {
      await nextTurn(); // the turns of other requests end
      const body = JSON.stringify({ apiVersion, kind: "Toy", metadata: { name }, color: "red".repeat(10_000) });
      const turns = await turnsDuring(async () => {
        const { status } = await send(`/${name}?fieldManager=a`, { method: "PATCH", headers, body, inProcess });
        assert.equal(status, 201);
      });
      assert.ok(turns >= 11, String(turns));
    }
  });
});

describe("a long patch", () => {
  it("is read in turns for the audit log too", async (context) => {
    const recorded: unknown[] = [];
    const scenes = [await scene(), await scene({ recordObject: (object) => recorded.push(object) })];
    const patch = { color: "red", numbers: Array<number>(20_000).fill(1.5) };
    const sent = {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify(patch),
    };
    const turns: number[] = [];
    for (const { box } of scenes) await box.add("bear");
    await nextTurn(); // the turns of other tests end
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    for (const { send } of scenes) {
      turns.push(await turnsDuring(async () => assert.equal((await send("/bear", sent)).status, 200)));
    }
    const [alone = 0, andRecorded = 0] = turns;
    assert.ok(andRecorded >= alone + 20, `${andRecorded} turns, unrecorded ${alone}`);
    assert.deepEqual(recorded, [patch]);
  });
});

describe("a request that waits for its turn", () => {
  const yaml = { method: "POST", headers: { "content-type": "application/yaml" }, body: "metadata: {name: wolf}" };
  for (const { what, target, sent = {}, earlierChecks = 0 } of [
    { what: "a list", target: "" },
    { what: "a get of a long object", target: "/bear" },
    { what: "a create in YAML, whose body had come", target: "", sent: yaml, earlierChecks: 1 },
  ])
    it(`is refused when the credential of its sender is revoked meanwhile: ${what}`, async () => {
      let checks = 0;
      const { box, send } = await scene({
        refuseRevoked() {
          if (++checks > earlierChecks) throw unauthorized();
        },
      });
      await box.add("bear", { color: "red".repeat(10_000) });
      const refused = await send(target, sent).then(
        ({ status }) => status,
        (error: unknown) => error instanceof ApiError && error.code,
      );
      assert.equal(refused, 401);
      assert.equal(box.registry.peek({ namespace: "box", name: "wolf" }), undefined);
    });
});

describe("a write", () => {
  const create = (body: string, more: Sent = {}): Sent => ({ method: "POST", body, ...more });

  it("answers 201 and warns of unknown fields in headers", async () => {
    const { send } = await scene();
    const response = await send("", create('{"metadata":{"name":"bear"},"size":1,"color":"beige"}'));
    assert.equal(response.status, 201);
    assert.deepEqual(response.headers["warning"], ['299 - "unknown field \\"size\\""', '299 - "color: beige is dull"']);
  });

  it("refuses bodies in upstream's words", async () => {
    const { send } = await scene();
    const refusals: readonly [string, string][] = [
      [
        "",
        "the object provided is unrecognized (must be of type Toy): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
      ],
      ["[]", "couldn't get version/kind"],
      [
        '{"kind":"Toy","apiVersion":"a/b/c"}',
        'the object provided is unrecognized (must be of type Toy): unexpected GroupVersion string: a/b/c ({"kind":"Toy","apiVersion":"a/ ...)',
      ],
      ['{"kind":"Pod","apiVersion":"v1"}', 'Pod in version "v1" cannot be handled as a Toy'],
      ['{"color":1}', 'Toy in version "v1" cannot be handled as a Toy: json: cannot unmarshal number'],
      ['{"apiVersion":"toys.example.com/v2"}', "the API version in the data (toys.example.com/v2) does not match"],
    ];
    for (const [body, message] of refusals) {
      const response = await send("", create(body));
      assert.equal(response.status, 400, body);
      assert.ok(json(response).message.includes(message), json(response).message);
    }
    const strict = await send("?fieldValidation=Strict", create('{"metadata":{"name":"a"},"size":1}'));
    assert.ok(json(strict).message.endsWith('strict decoding error: unknown field "size"'));
    assert.equal((await send("", create("{}", { headers: { "content-type": "text/plain" } }))).status, 415);
    assert.equal((await send("?dryRun=x", create("{}"))).status, 422);
  });

  it("deletes with the options of the body, or of the query without one", async () => {
    const { box, send } = await scene();
    await box.add("bear");
    const remove = (query: string, body = "") => send(`/bear${query}`, { method: "DELETE", body });
    assert.equal((await remove("?uid=other")).status, 409);
    assert.equal((await remove("", '{"preconditions":{"uid":"other"}}')).status, 409);
    assert.equal((await remove("?propagationPolicy=")).status, 422);
    assert.equal((await remove("", "{")).status, 400);
    for (const member of ["kind", "Kind"]) {
      const { message } = json(await remove("", `{"${member}":"Toy"}`));
      assert.equal(message, "decoded object cannot be converted to DeleteOptions");
    }
    assert.equal(json(await remove("", '{"apiVersion":"a/b/c"}')).message, "unexpected GroupVersion string: a/b/c");
    assert.equal(json(await remove("?uid=other", "{}")).kind, "Toy");
  });

  it("answers a delete with a Status if the kind says so", async () => {
    const definition = { ...toys, answersDeletedObject: false, answersStatusOfDeletedCollection: true };
    const { box, send } = await scene({ definition });
    const { object } = await box.add("bear");
    const { uid } = object.metadata;
    const answer = json(await send("/bear", { method: "DELETE" }));
    assert.deepEqual(answer.details, { name: "bear", group: "toys.example.com", kind: "toys", uid });
    assert.equal(json(await send("", { method: "DELETE" })).status, "Success");
  });

  it("answers a delete with a Status where a table is asked for, but refuses options that no table has", async () => {
    const definition = { ...toys, answersDeletedObject: false, answersStatusOfDeletedCollection: true };
    const { box, send } = await scene({ definition });
    for (const path of ["", "/bear"]) {
      await box.add("bear");
      const remove = (query: string) => send(`${path}${query}`, { method: "DELETE", headers: table });
      assert.match(json(await remove("?includeObject=x")).message, /includeObject: Invalid value: "x"/);
      await box.add("bear");
      assert.equal(json(await remove("?includeObject=None")).kind, "Status");
    }
  });

  it("answers the deletion of a collection with the list of deleted objects otherwise", async () => {
    const { box, send } = await scene();
    await box.add("bear");
    const { kind, items } = json(await send("", { method: "DELETE" }));
    assert.equal(kind, "ToyList");
    assert.equal(items?.length, 1);
    assert.deepEqual(json(await send("")).items, []);
  });

  it("that creates an object by an update requires the permission to create", async () => {
    const { send } = await scene({ decision: "deny", definition: { ...toys, allowsCreateOnUpdate: true } });
    const response = await send("/bear", { method: "PUT", body: '{"metadata":{"name":"bear"}}' });
    assert.equal(response.status, 403);
  });

  it("of a deprecated version has a warning in its answer, failures included", async () => {
    const { send } = await scene({
      definition: { ...toys, deprecation: { deprecatedIn: "1.2", unavailableIn: "1.5" } },
    });
    const response = await send("/bear");
    assert.equal(response.status, 404);
    assert.deepEqual(response.headers["warning"], [
      '299 - "toys.example.com/v1 Toy is deprecated in v1.2+, unavailable in v1.5+"',
    ]);
  });
});
