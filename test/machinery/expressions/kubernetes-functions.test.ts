import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CostBudget } from "../../../src/machinery/expressions/cost-budget.ts";
import { kubernetesEnvironment } from "../../../src/machinery/expressions/kubernetes-environment.ts";
import { compileExpression } from "../../../src/machinery/expressions/metered-expression.ts";

const environment = kubernetesEnvironment().registerVariable("object", "dyn");
const object = {
  texts: ["b", "a", "c"],
  numbers: [3n, 1n, 2n],
  mixed: [1n, "a"],
  empty: [],
  text: "a1b22",
  address: "10.0.0.7",
  url: "https://user@example.com:8443/a%20b?x=1&x=2",
  memory: "1.5Gi",
};
const run = (source: string, steps = 1_000_000): unknown =>
  compileExpression(source, { environment }).evaluate({ object }, new CostBudget(steps));

const results: Readonly<Record<string, unknown>> = {
  "object.texts.isSorted()": false,
  "[1, 2, 2].isSorted() && object.empty.isSorted()": true,
  "object.numbers.sum()": 6n,
  "object.empty.sum()": 0n,
  "[1.5, 2.5].sum()": 4,
  "object.texts.min() + object.texts.max()": "ac",
  "object.texts.indexOf('a')": 1n,
  "object.texts.indexOf('z')": -1n,
  "[1, 2, 1].lastIndexOf(1)": 2n,
  "sets.contains(object.texts, ['a', 'b'])": true,
  "sets.contains(['a'], object.texts)": false,
  "sets.equivalent([1, 1, 2], [2, 1])": true,
  "sets.intersects(object.texts, ['x', 'c'])": true,
  "sets.contains([quantity('1')], [quantity('2')])": false,
  "sets.contains([quantity('1')], [quantity('1000m')])": true,
  "[quantity('1'), quantity('2'), quantity('1.0')].distinct().size()": 2n,
  "[[quantity('1')]].indexOf([quantity('2')])": -1n,
  "optional.of(quantity('1')) == optional.of(quantity('2'))": false,
  "[optional.of(1)].indexOf(optional.of(2))": -1n,
  "sets.contains([optional.of(1)], [optional.none()])": false,
  "[object.?text, object.?address, object.?text].distinct().size()": 2n,
  "optional.of(optional.of(1)) == optional.of(optional.of(2))": false,
  "optional.of(optional.of(1)) == optional.of(optional.of(1))": true,
  "sets.contains([format.uuid()], [format.date()])": false,
  "object.text.find('[0-9]+')": "1",
  "object.text.findAll('[0-9]+') == ['1', '22']": true,
  "object.text.findAll('[0-9]+', 1).size()": 1n,
  "object.text.charAt(1)": "1",
  "object.text.replace('2', 'x')": "a1bxx",
  "object.text.replace('2', 'x', 1)": "a1bx2",
  "'ab'.replace('', '-')": "-a-b-",
  "'%s has %d of %.1f%% %x'.format(['a', 3, 2.25, 255])": "a has 3 of 2.2% ff",
  "'%s'.format([object.texts])": '["b", "a", "c"]',
  "'%s'.format([['\\u0007\\\\u0007\\u0001\\n']])": String.raw`["\a\\u0007\x01\n"]`,
  "strings.quote('a\"b')": '"a\\"b"',
  "isURL(object.url) && !isURL('no url') && !isURL('relative/path') && isURL('/path')": true,
  "url(object.url).getScheme() + ' ' + url(object.url).getHost() + ' ' + url(object.url).getHostname()":
    "https example.com:8443 example.com",
  "url(object.url).getPort()": "8443",
  "url('https://example.com').getPort() + url('https://example.com').getEscapedPath()": "",
  "url(object.url).getEscapedPath()": "/a%20b",
  "url(object.url).getQuery()['x'] == ['1', '2']": true,
  "url('https://a') == url('https://a') && url('https://a') != url('https://b')": true,
  "url('https://[::1]:80/').getHostname()": "::1",
  "url('https://[fe80::1%25en0]:80/').getHostname()": "fe80::1%en0",
  "isURL('https://[not-an-ip]/') || isURL('https://[::1%25]/') || isURL('https://a:1:2/')": false,
  "isURL('postgres://a:1,b:2/')": true,
  "isQuantity(object.memory) && !isQuantity('1.5 Gi') && !isQuantity('Pi')": true,
  "quantity(object.memory).isGreaterThan(quantity('1500Mi'))": true,
  "quantity('1k').asInteger()": 1000n,
  "quantity('100m').isInteger()": false,
  "['1', '1k', '1e3', '+1', '1.', '1Ki', '1Ti'].all(one, quantity(one).isInteger())": true,
  "['1.0', '1000m', '0.0', '1.5Ki', '1.0Ki', '1Pi', '1000000u', '9223372036854775807'].exists(one, quantity(one).isInteger())": false,
  "quantity('1').add(quantity('1.0')).isInteger()": false,
  "quantity('0').add(quantity('1k')).isInteger() && quantity('1k').sub(1).isInteger()": true,
  "sign(quantity('-2'))": -1n,
  "quantity('1').add(quantity('500m')).asApproximateFloat()": 1.5,
  "quantity('1Ki').sub(24).compareTo(quantity('1000'))": 0n,
  "quantity('1') == quantity('1000m')": true,
  "quantity('1e3').isLessThan(quantity('1Ki'))": true,
  "isIP(object.address) && !isIP('010.0.0.1') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')": true,
  "ip('::ffff:1').family() == 6 && isIP('::ffff:1:2:3')": true,
  "ip(object.address).family() == 4 && ip('::1').isLoopback()": true,
  "ip('fe80::1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()": true,
  "ip('2001:db8::1') == ip('2001:DB8:0::1')": true,
  "ip.isCanonical('2001:DB8::1')": false,
  "cidr('10.0.0.0/8').containsIP(object.address) && !cidr('10.0.0.0/30').containsIP(ip(object.address))": true,
  "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')": true,
  "string(cidr('10.1.2.3/8').masked())": "10.0.0.0/8",
  "cidr('2001:db8::/32').containsIP('2001:db8:1::1') && cidr('10.0.0.0/8').prefixLength() == 8": true,
  "isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0') || isCIDR('10.0.0.0/08')": false,
  "format.dns1123Label().validate('my-name').hasValue()": false,
  "format.dns1123Label().validate('My_Name').hasValue()": true,
  "format.named('uuid').value().validate('x').value() == ['does not match the UUID format']": true,
  "format.named('nothing').hasValue()": false,
  "format.dns1035Label().validate('1a').hasValue() && !format.date().validate('2026-11-22').hasValue()": true,
};

describe("the functions of Kubernetes", () => {
  for (const [source, expected] of Object.entries(results)) {
    it(source, () => assert.deepEqual(run(source), expected));
  }

  const faults: Readonly<Record<string, RegExp>> = {
    "object.empty.min()": /empty list/,
    "object.mixed.sum()": /different types/,
    "url('no url')": /URL parse error/,
    "quantity('x')": /quantities must match/,
    "quantity('100m').asInteger()": /cannot convert/,
    "ip('1.2.3')": /parse error/,
    "cidr('1.2.3.4/40')": /parse error/,
    "'%d'.format(['a'])": /cannot show/,
    "'%s'.format([])": /out of range/,
    "'%q'.format(['a'])": /unrecognized formatting clause/,
    "'a'.charAt(2)": /out of range/,
  };
  for (const [source, fault] of Object.entries(faults)) {
    it(`fails: ${source}`, () => assert.throws(() => run(source), fault));
  }

  for (const source of ["jsonpatch.escapeKey('a')", "authorizer.path('/')", "nothing == 1", "object.texts.nothing()"]) {
    it(`is invalid before it is used: ${source}`, () =>
      assert.throws(() => compileExpression(source, { environment }), Error));
  }

  for (const source of [
    "'x'.replace('', object.text).replace('', object.text).replace('', object.text).replace('', object.text).replace('', object.text).replace('', object.text).replace('', object.text).replace('', object.text)",
    "[0,1,2,3,4,5,6,7,8,9].map(a, '%s%s'.format([object, object])).exists(b, object.texts.exists(c, b == c)) || [0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, object.text.findAll('') != [])))",
  ]) {
    it(`is stopped: ${source.slice(0, 60)}`, () => assert.throws(() => run(source, 10_000), /cost limit/));
  }

  it("is stopped when it looks at the parts of a long URL without end", () => {
    const url = `https://${"a".repeat(10_000)}@h/?a=b`;
    for (const part of ["getHost() != ''", "getPort() == ''", "getQuery().size() > 0", "getEscapedPath() != ''"]) {
      const source = `[url('${url}')].all(u, object.items.all(k, u.${part}))`;
      const items = Array.from({ length: 5000 }, (_, index) => index);
      const expression = compileExpression(source, { environment });
      assert.throws(() => expression.evaluate({ object: { items } }, new CostBudget(1_000_000)), /cost limit/, part);
    }
  });

  it("is stopped when it reads a query of very many parameters, one look of which takes seconds", () => {
    const query = compileExpression("url(object.url).getQuery().size() == 1", { environment });
    const read = (parameters: number): unknown =>
      query.evaluate({ object: { url: `https://h/?${"a&".repeat(parameters)}` } }, new CostBudget(1_000_000));
    assert.equal(read(1000), true);
    assert.throws(() => read(100_000), /cost limit/);
  });

  it("puts lists that hold others twice in no order", () => {
    const binds = Array.from({ length: 24 }, (_, at) => `[[a${at}, a${at}]].all(a${at + 1}, `).join("");
    for (const name of ["isSorted", "min", "max", "sort"]) {
      const source = `[[1]].all(a0, ${binds}[dyn(a24), dyn(a24)].${name}() == dyn(1))${")".repeat(24)}`;
      assert.throws(() => run(source), /must be comparable/, name);
    }
  });

  it("is stopped before it flattens, or shows, lists that hold others twice", () => {
    const binds = Array.from({ length: 22 }, (_, at) => `[[a${at}, a${at}]].all(a${at + 1}, `).join("");
    for (const call of ["dyn(a22).flatten(40)", "'%s'.format([a22])"]) {
      const source = `[[[1], [1]]].all(a0, ${binds}${call}.size() > 0)${")".repeat(22)}`;
      assert.throws(() => run(source), /cost limit/, call);
    }
  });

  it("compares lists that hold others twice once", () => {
    const binds = Array.from({ length: 26 }, (_, at) => `[[a${at}, a${at}]].all(a${at + 1}, `).join("");
    for (const source of [
      "sets.contains([a26], [[a25, a25]])",
      "[a26].indexOf([a25, a25]) == 0",
      "[a26, [a25, a25]].distinct().size() == 1",
      "optional.of(a26) == optional.of([a25, a25])",
    ]) {
      assert.equal(run(`[[1]].all(a0, ${binds}${source})${")".repeat(26)}`), true, source);
    }
  });

  const length = 60_000;
  const large = {
    text: "a".repeat(length),
    characters: "😀".repeat(length / 4),
    texts: Array.from({ length: 5000 }, (_, index) => `text ${index}`),
    lists: Array.from({ length: 3000 }, (_, index) => [index]),
    map: new Map(Array.from({ length: 5000 }, (_, index) => [`key ${index}`, 1n])),
    digits: "9".repeat(length),
    version: `1.2.3-${"a.".repeat(length / 2)}a`,
    url: `https://h/${"%41 ".repeat(length / 4)}`,
    duration: "1h".repeat(length / 2),
    fixed: "%.100f".repeat(length / 6),
    percent: "%%".repeat(length / 2),
    bells: "\u0007".repeat(length),
    mixed: "aA".repeat(length / 2),
  };
  for (const source of [
    "object.percent.format([]) != ''",
    "'%s'.format([[object.bells]]) != ''",
    "strings.quote(object.bells) != ''",
    "object.mixed.lowerAscii() != ''",
    "object.mixed.upperAscii() != ''",
  ]) {
    it(`spends for each part that it replaces: ${source}`, () => {
      const expression = compileExpression(source, { environment });
      assert.throws(() => expression.evaluate({ object: large }, new CostBudget((2 / 3) * length)), /cost limit/);
    });
  }

  it("spends for the depth of a value each time that it is read", () => {
    const deep = Array.from({ length: 90 }).reduce((value: unknown) => [value], 1n);
    const expression = compileExpression("lists.range(100).all(i, object != i)", { environment });
    assert.throws(() => expression.evaluate({ object: deep }, new CostBudget(5000)), /cost limit/);
  });

  const each = (call: string): string => `object.texts.all(t, ${call})`;
  for (const source of [
    "object.texts.all(i, v, object.texts.all(j, w, v != ''))",
    "object.map.transformMap(k, v, object.map.transformMap(l, w, w)).size() > 0",
    "object.texts.transformList(i, v, object.texts.transformList(j, w, j)).size() > 0",
    "object.texts.transformMapEntry(i, v, {v: object.map}).size() > 0 && object.texts.transformMapEntry(i, v, object.map.transformMap(k, w, w)).size() > 0",
    "object.texts.sortBy(t, object.texts.sort().size()).size() > 0",
    "object.lists.distinct().size() > 0",
    "lists.range(9223372036854775807).size() > 0",
    "lists.range(2000).map(i, lists.range(i)).flatten().size() > 0",
    "object.fixed.format(object.texts.map(t, 1e300)).size() > 0",
    each("object.texts.reverse().slice(0, 9).size() == 9"),
    each("object.texts.first() == object.texts.last() || true"),
    each("optional.of(object.map) == optional.of(object.map)"),
    each("object.characters.charAt(1) != ''"),
    each("object.characters.indexOf('b', 9) < 0"),
    each("object.text.split('').size() > 0"),
    each("object.text.replace('', 'b') != ''"),
    each("object.text.upperAscii() != ''"),
    each("object.text.trim() != ''"),
    each("int(object.digits) > 0 || true"),
    each("isSemver(object.version) || true"),
    each("url(object.url).getEscapedPath() != ''"),
    each("duration(object.duration) > duration('1s') || true"),
    each("duration(object.digits) > duration('1s') || true"),
    each("double(object.digits) > 1.0 || true"),
    each("timestamp(object.digits) > timestamp(1) || true"),
    each("isSemver(object.digits, true) || true"),
    each("isQuantity(object.digits) || true"),
    each("format.datetime().validate(object.digits).hasValue()"),
    each("format.byte().validate(object.digits).hasValue() || true"),
    each("timestamp(1).getHours('Europe/Berlin') > 0"),
    each("bytes(object.text).size() > 0"),
    each("cidr('2001:db8::/32').masked() == cidr('::/0') || cidr('::1/128').masked() == cidr('::2/128') || true"),
  ]) {
    it(`is stopped with a large object: ${source}`, () => {
      const expression = compileExpression(source, { environment });
      assert.throws(() => expression.evaluate({ object: large }, new CostBudget(1_000_000)), /cost limit/);
    });
  }
});
