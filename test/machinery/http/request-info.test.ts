import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { isForApi, requestInfo } from "../../../src/machinery/http/request-info.ts";

/** The relevant words of an info, in one line. */
function told(method: string, path: string, query = ""): string {
  const info = requestInfo({ method, path, query });
  if (info.kind === "path") return `path ${info.verb} ${info.path}`;
  const { kind, verb, group, version, namespace, resource, name, subresource, rest, isWatchPath } = info;
  const target = [group || "core", version, namespace || "-", resource, name || "-", subresource || "-"].join(" ");
  return `${kind} ${verb} ${target}${rest.length > 0 ? ` +${rest.join("+")}` : ""}${isWatchPath ? " (watch path)" : ""}`;
}

describe("requestInfo", () => {
  const cases: readonly (readonly [request: string, expected: string])[] = [
    ["GET /api/v1/namespaces/n/serviceaccounts", "resource list core v1 n serviceaccounts - -"],
    ["GET /api/v1/namespaces/n/serviceaccounts/", "resource list core v1 n serviceaccounts - -"],
    ["GET /api/v1/namespaces/n/serviceaccounts/a", "resource get core v1 n serviceaccounts a -"],
    ["POST /api/v1/namespaces/n/serviceaccounts/a/token", "resource create core v1 n serviceaccounts a token"],
    ["GET /api/v1/namespaces/n/serviceaccounts/a/b/c/d", "resource get core v1 n serviceaccounts a b +c+d"],
    ["GET /api/v1/serviceaccounts", "resource list core v1 - serviceaccounts - -"],
    ["DELETE /api/v1/namespaces/n/secrets", "resource deletecollection core v1 n secrets - -"],
    ["DELETE /api/v1/namespaces/n/secrets/a", "resource delete core v1 n secrets a -"],
    ["PUT /apis/g.io/v1/things/a", "resource update g.io v1 - things a -"],
    ["PATCH /apis/g.io/v1/things/a/status", "resource patch g.io v1 - things a status"],
    ["GET /api/v1/namespaces", "resource list core v1 - namespaces - -"],
    ["GET /api/v1/namespaces/n", "resource get core v1 n namespaces n -"],
    ["PUT /api/v1/namespaces/n/finalize", "resource update core v1 n namespaces n finalize"],
    ["PUT /api/v1/namespaces/n/status", "resource update core v1 n namespaces n status"],
    ["GET /api/v1/watch/namespaces/n/secrets", "resource watch core v1 n secrets - - (watch path)"],
    ["GET /api/v1/watch/namespaces/n/secrets/a", "resource watch core v1 n secrets a - (watch path)"],
    ["GET /api/v1/watch/namespaces/n/secrets/a/b/c", "resource watch core v1 n secrets a b +c (watch path)"],
    ["GET /apis/g.io/v1/watch/things", "resource watch g.io v1 - things - - (watch path)"],
    ["POST /api/v1/watch/secrets", "unserved watch core v1 - secrets - - (watch path)"],
    ["HEAD /api/v1/namespaces/n/secrets", "unserved list core v1 n secrets - -"],
    ["HEAD /api/v1/namespaces/n/secrets/a", "unserved get core v1 n secrets a -"],
    ["OPTIONS /api/v1/namespaces/n/secrets", "unserved  core v1 n secrets - -"],
    ["GET /api/v1/namespaces/n/secrets/%6fne", "resource get core v1 n secrets one -"],
    ["GET /api/v1/namespaces/n/secrets/a%2Fb", "resource get core v1 n secrets a b"],
    ["GET /api/v1/namespaces/n/secrets/__proto__", "resource get core v1 n secrets __proto__ -"],
    ["GET /api", "path get /api"],
    ["GET /api/v1", "path get /api/v1"],
    ["GET /apis/g.io/v1", "path get /apis/g.io/v1"],
    ["GET /healthz", "path get /healthz"],
    ["POST /API/v1/secrets", "path post /API/v1/secrets"],
    ["GET /", "path get /"],
    ["GET /api/v1//secrets", "resource get core v1 -  secrets -"],
  ];
  for (const [request, expected] of cases) {
    it(`reads ${request} as ${expected}`, () => {
      const [method = "", path = ""] = request.split(" ");
      assert.equal(told(method, path), expected);
    });
  }

  it("turns a list into a watch for any value but false and 0, and looks at the first one only", () => {
    const verbOf = (query: string): string => told("GET", "/api/v1/secrets", query).split(" ")[1] ?? "";
    for (const on of ["watch=1", "watch=yes", "watch=", "watch", "a=b&watch=True", "watch=1&watch=0", "w%61tch=1"]) {
      assert.equal(verbOf(on), "watch", on);
    }
    for (const off of ["", "watch=0", "watch=false", "watch=False", "awatch=1", "watch=0&watch=1"]) {
      assert.equal(verbOf(off), "list", off);
    }
  });

  it("ignores the watch query on one object", () => {
    assert.match(told("GET", "/api/v1/namespaces/n/secrets/a", "watch=1"), /^resource get /);
  });

  it("refuses malformed escapes and escapes that are not UTF-8", () => {
    for (const path of ["/api/v1/%", "/api/v1/%zz", "/api/v1/namespaces/%ff/secrets"]) {
      assert.throws(
        () => requestInfo({ method: "GET", path, query: "" }),
        (error) => error instanceof ApiError && error.code === 400,
        path,
      );
    }
  });

  it("throws only 400s, and treats only paths below /api and /apis as resources", () => {
    const segment = fc.oneof(
      fc.constantFrom("api", "apis", "v1", "watch", "namespaces", "status", "", ".."),
      fc.webSegment(),
    );
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 9 }), fc.constantFrom("GET", "POST", "FOO"), (segments, method) => {
        const path = `/${segments.join("/")}`;
        let info;
        try {
          info = requestInfo({ method, path, query: "" });
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 400);
          return;
        }
        if (info.kind !== "path") assert.match(info.path, /^\/+apis?\//);
      }),
    );
  });
});

describe("isForApi", () => {
  const isPathForApi = (path: string): boolean => isForApi(requestInfo({ method: "GET", path, query: "" }));

  it("recognizes a path of the API in every spelling", () => {
    for (const path of [
      "/api/v1",
      "/apis/g.io/v1/things",
      "/api",
      "//api/v1/secrets",
      "/%61pi/v1/secrets",
      "/%2Fapi%2Fv1",
    ]) {
      assert.ok(isPathForApi(path), path);
    }
    for (const path of ["/", "/livez", "/readyz/ping", "/metrics", "/apiary", "/v1/api"]) {
      assert.ok(!isPathForApi(path), path);
    }
  });
});
