import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { Transport } from "../../../src/machinery/client/transport.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";

const configMaps: ResourceType = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  scope: "Namespaced",
};

/** The client of a server that answers a request with these parts. `read`: how many of them were read. */
function clientOf(
  status: number,
  parts: readonly string[],
): { readonly client: ApiClient; readonly read: () => number } {
  let read = 0;
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      read += 1;
      yield Buffer.from(part);
    }
  }
  const client = new ApiClient({ send: async () => ({ status, headers: {}, body: body() }), close() {} });
  return { client, read: () => read };
}

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe("the client's deletion of a collection", () => {
  it("reads the answer to its end, but parses none of it", async (t) => {
    const { client, read } = clientOf(200, ['{"kind":"ConfigMapList","metadata":{},"items":[', "]}"]);
    const parse = t.mock.method(JSON, "parse");
    await client.resource(configMaps, "default").deleteCollection();
    assert.equal(read(), 2);
    assert.equal(parse.mock.callCount(), 0);
  });

  it("rejects with the server's error", async () => {
    const { client } = clientOf(403, ['{"kind":"Status","apiVersion":"v1","code":403,"message":"no"}']);
    await assert.rejects(client.resource(configMaps, "default").deleteCollection(), { code: 403, message: "no" });
  });
});

describe("the client's list of metadata", () => {
  it("has no items when the server says null, as upstream does of an empty one", async () => {
    const { client } = clientOf(200, ['{"kind":"PartialObjectMetadataList","metadata":{},"items":null}']);
    assert.deepEqual(await client.resource(configMaps, "default").listMetadata(), []);
  });

  it("rejects an answer that is no list", async () => {
    const { client } = clientOf(200, ['{"kind":"ConfigMap","metadata":{}}']);
    await assert.rejects(client.resource(configMaps, "default").listMetadata(), /the answer is not a list/);
  });
});

describe("the client's read of one object", () => {
  it("rejects an answer that is larger than any object", async () => {
    const { client, read } = clientOf(
      200,
      Array.from({ length: 100 }, () => " ".repeat(2 ** 20)),
    );
    await assert.rejects(client.resource(configMaps, "default").get("x"), /the answer has more than 16 MiB/);
    assert.equal(read(), 17);
  });
});

describe("the client's list", () => {
  it("rejects an answer that is no list", async () => {
    for (const fields of [
      {},
      { metadata: {} },
      { items: [] },
      { items: {}, metadata: {} },
      { items: [], metadata: 1 },
    ]) {
      const { client } = clientOf(200, [JSON.stringify({ kind: "ConfigMapList", ...fields })]);
      await assert.rejects(client.resource(configMaps, "default").list(), /the answer is not a list/);
    }
  });
});

describe("a name that no object can have", () => {
  it("is refused before anything is sent, because it would make another path", async () => {
    const paths: string[] = [];
    const send: Transport["send"] = async ({ path }) => {
      paths.push(path);
      return { status: 200, headers: {}, body: parts('{"kind":"ConfigMap","metadata":{}}') };
    };
    const resource = new ApiClient({ send, close() {} }).resource(configMaps, "default");
    for (const name of ["", ".", "..", "a/b", "a%2fb"]) {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
      for (const request of [
        () => resource.get(name),
        () => resource.update(object),
        () => resource.patch(name, { body: {} }),
        () => resource.delete(name),
        () => resource.createSubresource(name, { subresource: "token", object }),
      ]) {
        await assert.rejects(request, /invalid resource name/);
      }
      assert.equal(await resource.find(name), undefined);
    }
    assert.deepEqual(paths, []);
    await resource.get("a:b c?d#e");
    assert.deepEqual(paths, ["/api/v1/namespaces/default/configmaps/a%3Ab%20c%3Fd%23e"]);
  });
});

it("refuses a namespace that would make another path", () => {
  const client = new ApiClient({ send: () => assert.fail("nothing is sent"), close() {} });
  for (const namespace of [".", "..", "a/b", "a%2fb"]) {
    assert.throws(() => client.resource(configMaps, namespace), { code: 400, message: /^invalid namespace "/ });
  }
});

describe("a search for an object", () => {
  it("finds none when the server answers 404, and fails with every other error", async () => {
    const answering = (code: number) => {
      const { client } = clientOf(code, [JSON.stringify({ kind: "Status", code, message: "no" })]);
      return client.resource(configMaps, "default").find("a");
    };
    assert.equal(await answering(404), undefined);
    for (const code of [400, 401, 403, 409, 410, 500]) await assert.rejects(answering(code), { code });
  });
});

describe("the error of a refused request", () => {
  const errorFor = async (status: object): Promise<ApiError> => {
    const { client } = clientOf(400, [JSON.stringify({ kind: "Status", ...status })]);
    const error: unknown = await client.request("/").catch((thrown: unknown) => thrown);
    assert(error instanceof ApiError);
    return error;
  };

  it("has texts no longer than a Signet server makes them", async () => {
    const { message, reason = "" } = await errorFor({ message: "m".repeat(2 ** 20), reason: "r".repeat(2 ** 20) });
    assert.deepEqual([message.slice(65_535), message.length], [`m... (${2 ** 20} characters)`, 65_536 + 24]);
    assert.equal(reason.length, 256 + 24);
  });

  it("shows the start of an answer that is not a Status, and no half letter", async () => {
    const { client } = clientOf(502, [`x${"\u{1f600}".repeat(1000)}`]);
    await assert.rejects(client.request("/"), ({ message }: Error) => message.length <= 500 && message.isWellFormed());
  });

  it("says how long to wait: as the Status does, or else the header, as of a proxy's page", async () => {
    const waits: unknown[] = [];
    for (const text of ["<html>", JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 7 } })]) {
      const client = new ApiClient({
        send: async () => ({ status: 503, headers: { "retry-after": "60" }, body: parts(text) }),
        close() {},
      });
      await client.request("/").catch((error: ApiError) => waits.push(error.retryAfterSeconds));
    }
    assert.deepEqual(waits, [60, 7]);
  });

  it("has nothing of a field that is of another type than the API says", async () => {
    const error = await errorFor({ message: {}, reason: ["Conflict"], details: "x" });
    assert.deepEqual([error.reason, error.details], [undefined, undefined]);
  });

  it("says its code, and not the whole Status, where the Status has no message", async () => {
    for (const message of [undefined, "", {}]) {
      assert.equal((await errorFor({ message })).message, "the server answered 400");
    }
  });
});
