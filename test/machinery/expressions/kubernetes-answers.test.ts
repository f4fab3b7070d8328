import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Optional } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { celMapOf, celValueOf } from "../../../src/machinery/expressions/cel-value.ts";
import { CostBudget } from "../../../src/machinery/expressions/cost-budget.ts";
import { kubernetesEnvironment } from "../../../src/machinery/expressions/kubernetes-environment.ts";
import { compileExpression } from "../../../src/machinery/expressions/metered-expression.ts";

/**
 * What `k8s.io/apiserver` 0.35.4 says of each expression, with the environment of admission policies and the same `object`: its value,
 * or that it is refused, when it is compiled or when it is evaluated.
 */
const recorded = JSON.parse(readFileSync(new URL("kubernetes-answers.json", import.meta.url), "utf8")) as {
  readonly object: unknown;
  readonly answers: Readonly<Record<string, string>>;
};

/** The expressions whose answer is another one here, and this answer. */
const differences: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "the parser of the library does not know it": {
    ".5": "refused",
    ".object": "refused",
    ".object.str": "refused",
    "[?optional.of(1), ?optional.none(), 3]": "refused",
    "[?object.?str]": "refused",
    "[?object.?missing]": "refused",
    "{?'a': optional.of(1), ?'b': optional.none()}": "refused",
    "{?'a': object.?str}": "refused",
    "google.protobuf.Timestamp{}": "refused",
    "google.protobuf.Duration{seconds: 1}": "refused",
    "google.protobuf.Int64Value{value: 1}": "refused",
    "has(has(object.str))": "refused",
  },
  "timestamps have milliseconds, and no time zone": {
    "string(timestamp('2024-01-02T03:04:05.123456789Z'))": '"2024-01-02T03:04:05.123Z"',
    "string(timestamp('2024-01-02T03:04:05+02:00'))": '"2024-01-02T01:04:05Z"',
    "timestamp('2024-01-01T00:00:00.1234567891Z')": "ts(2024-01-01T00:00:00.123Z)",
    "timestamp('2024-01-01T00:00:00.123456789Z') == timestamp('2024-01-01T00:00:00.123Z')": "true",
    "timestamp('2024-01-01T00:00:00.000001Z') > timestamp('2024-01-01T00:00:00Z')": "false",
    "'%s'.format([timestamp('2024-01-02T03:04:05.123456Z')])": '"2024-01-02T03:04:05.123Z"',
    "string(duration('2562047h47m16.854775807s'))": '"9223372036.854775807s"',
    "timestamp('2024-03-05T06:07:08Z').getHours('utc')": "6",
  },
  "types have other names": {
    "type(optional.of(1))": "refused",
    "type([])": "type(list)",
    "type({})": "type(map)",
    "type({'a':1}.transformMap(k, v, v))": "type(map)",
    "type(null)": "type(null)",
  },
  "operators of the library": {
    "9223372036854775808": "9223372036854775808",
    "double('NaN') < 1.0": "false",
    "'😀' < '\\uFFFD'": "true",
    "b'é'": "b[233]",
    "size(b'é')": "1",
    "dyn(1u) in {1: 1}": "false",
    "[1,2,3][dyn(1u)]": "refused",
    "true ? false ? 1 : 2 : 3": "2",
    "timestamp(0) == null": "refused",
  },
  "a type may be right where it is not known": {
    "[dyn(1), 'a']": '[1,"a"]',
    "[1, dyn('a')]": '[1,"a"]',
    "[object.str, 1]": '["abc",1]',
    "[object.str, 'a', object.num]": '["abc","a",3]',
    "{'a': object.str, 'b': 1}": '{"a":"abc","b":1}',
    "[object.list, [7]].flatten()": "[3,1,2,7]",
    "[dyn(1),1.0,1u].distinct()": "[1]",
    "[1,2].flatten()": "[1,2]",
    "has(object.list.x)": "false",
  },
  "Kubernetes 1.36 is built with Go 1.26, which takes one colon in the host of such a URL": {
    "url('http://a:b:80/').getHost()": "refused",
  },
  "rare values": {
    "double('1_000')": "refused",
    "'a'.format(['b'])": '"a"',
    "'%s'.format(['a', 'b'])": '"a"',
    "'%s'.format([{1.5: 1}])": '"{1.500000:1}"',
    "'%s'.format([b'\\xff'])": '"\ufffd"',
    "object.?list.optFlatMap(l, l)": "refused",
    "optional.of(1).optMap(x, optional.of(x)).value().value()": "1",
  },
};

const environment = kubernetesEnvironment().registerVariable("object", "dyn").registerVariable("oldObject", "dyn");
const object = celValueOf(recorded.object);

function answerTo(source: string): string {
  try {
    const expression = compileExpression(source, { environment });
    return shown(expression.evaluate({ object, oldObject: null }, new CostBudget(1_000_000)));
  } catch {
    return "refused";
  }
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return shownDouble(value);
  if (value instanceof UnsignedInt) return `${value.valueOf()}u`;
  if (value instanceof Uint8Array) return `b[${Array.from(value).join(" ")}]`;
  if (value instanceof Date) return `ts(${value.toISOString().replace(/\.?0*Z$/, "Z")})`;
  if (value instanceof Duration) return `dur(${value.seconds * 1_000_000_000n + BigInt(value.nanos)})`;
  if (value instanceof Optional)
    return value.hasValue() ? `opt(${shown(value.value())})`.replace("opt(object)", "object") : "none";
  if (Array.isArray(value)) return `[${value.map(shown).join(",")}]`;
  const map = celMapOf(value);
  if (map !== undefined)
    return `{${Array.from(map, ([key, one]) => `${shown(key)}:${shown(one)}`)
      .sort()
      .join(",")}}`;
  const type = /^Type<(.*)>$/.exec(String(value))?.[1];
  if (type !== undefined) return `type(${type})`;
  return typeof value === "object" && value !== null ? "object" : String(value);
}

function shownDouble(value: number): string {
  if (Number.isNaN(value)) return "NaNd";
  if (!Number.isFinite(value)) return value < 0 ? "-Infd" : "+Infd";
  if (Object.is(value, -0)) return "-0d";
  return `${JSON.stringify(value).replace(/e([+-])(\d)$/, "e$10$2")}d`;
}

describe("an expression has Kubernetes' answer", () => {
  const known = Object.assign({}, ...Object.values(differences)) as Readonly<Record<string, string>>;
  for (const [source, answer] of Object.entries(recorded.answers)) {
    it(source, () => assert.equal(answerTo(source), known[source] ?? answer));
  }
  it("differs only where it says so", () => {
    for (const [source, answer] of Object.entries(known)) assert.notEqual(recorded.answers[source], answer, source);
  });
});
