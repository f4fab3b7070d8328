import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpRequest } from "../../../../src/machinery/api/http-message.ts";
import { requestInfo } from "../../../../src/machinery/http/request-info.ts";
import { dryRunLabel, scopeLabel, verbLabel } from "../../../../src/machinery/http/metrics/request-labels.ts";

const apply = { "content-type": "application/apply-patch+yaml" };
const merge = { "content-type": "application/merge-patch+json" };

/** The verb, the scope and the value for dry runs. */
function labelsOf(line: string, headers: HttpRequest["headers"] = {}): string {
  const [method = "", target = ""] = line.split(" ");
  const [path = "", query = ""] = target.split("?");
  const parsed = requestInfo({ method, path, query });
  const info = parsed.kind === "resource" ? parsed : undefined;
  return `${verbLabel({ method, headers }, info)} ${scopeLabel(info)} ${dryRunLabel({ query }, info)}`.trim();
}

describe("the labels of a request in the metrics", () => {
  const accounts = "/api/v1/namespaces/ns/serviceaccounts";

  it("name the method, and lists, watches and applies for themselves", () => {
    assert.equal(labelsOf(`GET ${accounts}/a`), "GET resource");
    assert.equal(labelsOf(`GET ${accounts}`), "LIST namespace");
    assert.equal(labelsOf(`GET ${accounts}?watch=1`), "WATCH namespace");
    assert.equal(labelsOf("GET /api/v1/watch/serviceaccounts"), "WATCH cluster");
    assert.equal(labelsOf(`PUT ${accounts}/a`), "PUT resource");
    assert.equal(labelsOf(`PATCH ${accounts}/a`, merge), "PATCH resource");
    assert.equal(labelsOf(`PATCH ${accounts}/a`, apply), "APPLY resource");
    assert.equal(labelsOf(`DELETE ${accounts}/a`), "DELETE resource");
    assert.equal(labelsOf(`DELETE ${accounts}`), "DELETE namespace");
  });

  it("name the scope of one object, of a namespace and of all, and a create as one object", () => {
    assert.equal(labelsOf(`POST ${accounts}`), "POST resource");
    assert.equal(labelsOf("POST /api/v1/namespaces"), "POST resource");
    assert.equal(labelsOf("GET /api/v1/namespaces/ns"), "GET resource");
    assert.equal(labelsOf("GET /api/v1/serviceaccounts"), "LIST cluster");
    assert.equal(labelsOf("GET /api/v1/namespaces"), "LIST cluster");
  });

  it("say whether a request is a dry run, in one of three ways", () => {
    assert.equal(labelsOf(`POST ${accounts}?fieldManager=dryRun`), "POST resource");
    assert.equal(labelsOf(`POST ${accounts}?dryRun=All`), "POST resource All");
    assert.equal(labelsOf(`POST ${accounts}?dryRun=All&dryRun=All`), "POST resource All");
    assert.equal(labelsOf(`POST ${accounts}?dryRun=`), "POST resource invalid");
    assert.equal(labelsOf(`POST ${accounts}?dryRun=All&dryRun=made-up`), "POST resource invalid");
  });

  it("hold only the verb of a request for no served resource, which is one of a few", () => {
    assert.equal(labelsOf("GET /version"), "GET");
    assert.equal(labelsOf("HEAD /version?dryRun=All"), "GET");
    assert.equal(labelsOf("OPTIONS /version"), "other");
    assert.equal(labelsOf("MADEUP /version"), "other");
  });
});
