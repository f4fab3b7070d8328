import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { bodyFormat, patchType } from "../../../src/machinery/http/content-type.ts";
import {
  documentNegotiator,
  isPretty,
  negotiate,
  negotiateStatus,
  refuseUnstreamable,
} from "../../../src/machinery/http/negotiation.ts";
import type { Endpoint } from "../../../src/machinery/http/negotiation.ts";
import { collectGarbage } from "../../collect-garbage.ts";

function agreed(accept: string, endpoint: Endpoint = "collection"): string {
  const { format, conversion } = negotiate({ headers: { accept } }, endpoint);
  return conversion ? `${format} ${conversion.kind} ${conversion.version}` : format;
}

const refused =
  (code: number, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.code === code && message.test(error.message);

describe("negotiate", () => {
  const table = "as=Table;v=v1;g=meta.k8s.io";
  const accepted: readonly (readonly [accept: string, expected: string])[] = [
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    [" application/json ", "json"],
    ["application/json; charset=utf-8", "json"],
    ["application/json,,", "json"],
    ["text/html, application/json", "json"],
    ["text/html;q=1, */*;q=0.1", "json"],
    ["application/yaml", "yaml"],
    ["application/vnd.kubernetes.protobuf", "protobuf"],
    ["application/vnd.kubernetes.protobuf,application/json", "protobuf"],
    ["application/json;q=0.5, application/yaml;q=0.1", "json"],
    ["application/json;q=0.1,application/yaml;q=0.9", "yaml"],
    ["application/json;foo=bar", "json"],
    ["application/json;stream=watch", "json"],
    [`application/json;${table}`, "json Table v1"],
    [`application/json;${table};foo=bar`, "json Table v1"],
    [`application/json;${table};sv=v1`, "json Table v1"],
    [`application/yaml;${table}`, "yaml Table v1"],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io", "json Table v1beta1"],
    ["application/json;as=Table;v=v9;g=meta.k8s.io,application/json", "json"],
    [`application/vnd.kubernetes.protobuf;${table},application/json;${table}`, "json Table v1"],
    ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "json PartialObjectMetadataList v1"],
  ];
  for (const [accept, expected] of accepted) {
    it(`answers ${JSON.stringify(accept)} with ${expected}`, () => assert.equal(agreed(accept), expected));
  }

  it("refuses types that no route produces, and names streaming types only for collections", () => {
    for (const accept of ["text/html", "application/*", "APPLICATION/JSON", ",", "nonsense", "application/json/x"]) {
      assert.throws(() => agreed(accept), refused(406, /^406: Not Acceptable\n\nAvailable .*stream=watch$/), accept);
      assert.throws(
        () => agreed(accept, "object"),
        refused(406, /^406: Not Acceptable\n\nAvailable [^=]*protobuf$/),
        accept,
      );
    }
  });

  it("refuses parameters that can't be met", () => {
    const text = /^only the following media types are accepted: application\/json, application\/yaml, .*protobuf$/;
    for (const parameters of ["v=v1", "g=meta.k8s.io", "as=Chair", "stream=other", "as=Table;v=v1;g=other", "sv=v2"]) {
      assert.throws(() => agreed(`application/json;${parameters}`), refused(406, text), parameters);
    }
  });

  it("does not offer tables for reviews", () => {
    assert.throws(
      () => agreed(`application/json;${table}`, "object without a table"),
      refused(406, /^only the following/),
    );
  });

  it("streams JSON and protobuf, not YAML", () => {
    const stream = (accept: string): string => {
      const mediaType = negotiate({ headers: { accept } }, "collection");
      refuseUnstreamable(mediaType);
      return mediaType.format;
    };
    assert.equal(stream("application/json;stream=watch"), "json");
    assert.equal(stream("application/vnd.kubernetes.protobuf;stream=watch"), "protobuf");
    const text = /^only the following media types are accepted: application\/json;stream=watch, /;
    assert.throws(() => stream("application/yaml"), refused(406, text));
    assert.throws(() => stream("application/yaml,application/json;q=0.9"), refused(406, text));
    assert.throws(() => stream("text/html"), refused(406, /^406/));
  });

  it("falls back to indented JSON for errors", () => {
    const form = (accept: string): unknown => {
      const { format, isPretty: isIndented } = negotiateStatus({ headers: { accept } });
      return [format, isIndented];
    };
    assert.deepEqual(form("text/html"), ["json", true]);
    assert.deepEqual(form("application/yaml"), ["yaml", false]);
    assert.deepEqual(form(`application/yaml;${table}`), ["json", true]);
    assert.deepEqual(form("application/json"), ["json", false]);
  });

  it("either agrees or answers 406, for any header", () => {
    const word = fc.constantFrom(
      "application/json",
      "*/*",
      ";q=0",
      ";q=x",
      ",",
      ";",
      "=",
      "as=Table",
      "/",
      " ",
      "__proto__",
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), (words) => {
        try {
          agreed(words.join(""));
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 406);
        }
      }),
    );
  });
});

describe("isPretty", () => {
  const pretty = (query: string, headers = {}): boolean => isPretty({ query, headers }, { isPretty: false });

  it("reads the query as a boolean of Go, and otherwise recognizes browsers and command line tools", () => {
    assert.deepEqual(
      ["pretty=true", "pretty=1", "pretty=T"].map((query) => pretty(query)),
      [true, true, true],
    );
    assert.deepEqual(
      ["", "pretty=0", "pretty=maybe", "pretty="].map((query) => pretty(query)),
      [false, false, false, false],
    );
    assert.equal(pretty("", { "user-agent": "curl/8" }), true);
    assert.equal(pretty("pretty=false", { "user-agent": "curl/8" }), false);
    assert.equal(pretty("", { "user-agent": "kubectl/v1.37" }), false);
  });
});

describe("the content type of a body", () => {
  const of = (type: string) => ({ "content-type": type });

  it("may name JSON, YAML or protobuf in any spelling, or be absent", () => {
    for (const type of [
      "",
      "application/json; charset=utf-8",
      "APPLICATION/JSON",
      "application/json;foo=bar",
      "application/json ; x=y",
      "application/json; x = y ;",
      'application/json; x="y; z=\\"a\\"" ; X="y; z=\\"a\\""',
      'application/json; x="\\a"; x="\\\\a"',
    ]) {
      assert.equal(bodyFormat(of(type)), "json", type);
    }
    assert.equal(bodyFormat({}), "json");
    assert.equal(bodyFormat(of("application/yaml")), "yaml");
    assert.equal(bodyFormat(of("application/vnd.kubernetes.protobuf")), "protobuf");
  });

  it("is refused by name otherwise", () => {
    for (const type of [
      "text/plain",
      "application/merge-patch+json",
      "nonsense",
      "application/cbor",
      "constructor",
      ";",
      ";x=y",
    ]) {
      assert.throws(
        () => bodyFormat(of(type)),
        refused(415, /^the body of the request was in an unknown format - /),
        type,
      );
    }
  });

  it("is refused with a parameter that is malformed, or has two values", () => {
    for (const parameters of [
      "x",
      "x=",
      "=y",
      "x=y z",
      'x="y',
      'x="y\\"',
      ";",
      "; x=y",
      "x=y; x=z",
      "x=y; X=Y",
      "x=y, z",
    ]) {
      assert.throws(
        () => bodyFormat(of(`application/json; ${parameters}`)),
        refused(415, /unknown format/),
        parameters,
      );
    }
  });

  it("of great length is read in one go", () => {
    const long = "x".repeat(100_000);
    for (const parameters of [long, `x="${long}`, `x=${'"\\"'.repeat(50_000)}`, `;${" ".repeat(100_000)}x`]) {
      assert.throws(() => bodyFormat(of(`application/json;${parameters}`)), refused(415, /unknown format/));
    }
    assert.throws(() => patchType(of(",".repeat(100_000))), refused(415, /^415: Unsupported Media Type$/));
  });

  it("of a patch is refused by name when it is one in a list, or has a blank behind it", () => {
    const message = [
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json",
      "application/merge-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
    ].join(", ");
    for (const type of [
      "application/merge-patch+json ; x=y",
      "application/merge-patch+json, x",
      "text/plain; x=y, application/json-patch+json",
    ]) {
      assert.throws(() => patchType(of(type)), { code: 415, message }, type);
    }
    assert.throws(() => patchType(of("text/plain, x")), refused(415, /^415: Unsupported Media Type$/));
  });

  it("distinguishes patch types, case-sensitively", () => {
    assert.equal(patchType(of("application/merge-patch+json; charset=utf-8")), "merge");
    assert.equal(patchType(of("application/apply-patch+yaml")), "apply");
    for (const type of ["", "application/json", "application/Merge-Patch+json"]) {
      assert.throws(() => patchType(of(type)), refused(415, /^415: Unsupported Media Type$/), type);
    }
  });
});

describe("what a negotiator keeps in memory", () => {
  const header = (characters: number, more = "") => ({ accept: "application/json;a=".padEnd(characters, "x") + more });

  it("is what short Accept headers get, so that they are parsed once", () => {
    const negotiateOnce = documentNegotiator();
    assert.equal(negotiateOnce(header(1024)), negotiateOnce(header(1024)));
    assert.notEqual(negotiateOnce(header(1025)), negotiateOnce(header(1025)));
  });

  it("is bounded, however many different headers clients send", async () => {
    const negotiateOnce = documentNegotiator();
    const results = Array.from(
      { length: 2000 },
      (_, count) => new WeakRef(negotiateOnce(header(100, String(count))) as object), // JSON is always agreed
    );
    await turn();
    collectGarbage();
    assert.ok(results.filter((result) => result.deref() !== undefined).length <= 512);
  });
});
