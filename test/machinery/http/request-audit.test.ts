import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestUri } from "../../../src/machinery/http/request-audit.ts";

describe("the path and query in the audit log", () => {
  const recorded = (query: string): string => requestUri({ path: "/api/v1/secrets", query });

  it("have the API's own parameters, as they were sent", () => {
    assert.equal(
      recorded("limit=1&token=x&&watch&dryRun=All&dryRun="),
      "/api/v1/secrets?limit=1&watch&dryRun=All&dryRun=",
    );
    assert.equal(recorded("token=x"), "/api/v1/secrets");
    assert.equal(recorded(""), "/api/v1/secrets");
  });

  it("have every parameter that a handler reads, however its name is escaped", () => {
    for (const query of [
      "label%53elector=a%3Db",
      "%64ryRun=All&f%69eldSelector=metadata.name%3Da",
      "watch=1&%6Cimit=2",
      "uid=a&resourceVersion=1&propagationPolicy=Orphan",
      "verbose&exclude=store",
      "hash=A0",
    ]) {
      assert.equal(recorded(query), `/api/v1/secrets?${query}`);
    }
    assert.equal(recorded("%3FdryRun=All&?limit=1&dryRun=All"), "/api/v1/secrets?dryRun=All");
    assert.equal(recorded("tok%65n=x&limit%3D1"), "/api/v1/secrets");
  });
});
