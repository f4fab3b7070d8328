import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { HeaderDecoder } from "../../../src/machinery/http2/header-decoder.ts";
import { maximumTableBytes } from "../../../src/machinery/http2/header-table.ts";
import { RequestHeaderEncoder } from "../../../src/machinery/http2/request-header-encoder.ts";
import type { HeaderFields } from "../../../src/machinery/http2/request-header-encoder.ts";

/** A dynamic table size update to 0 (RFC 7541 section 6.3). */
const emptyTable = 0x20;

/** Fields whose lengths need one octet or several, and that fill the table, or do not fit into it. */
const text = fc
  .oneof(fc.nat(10), fc.nat(300), fc.nat(5000))
  .map((length) => "ab-".repeat(length + 1).slice(0, length + 1));
const field = fc.tuple(text, text);
/** Few different requests, which are sent several times. */
const requests = fc
  .array(fc.array(field, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 })
  .chain((kinds) => fc.array(fc.constantFrom(...kinds), { maxLength: 20 }));

it("the headers of a client's requests are decoded as they were sent, also after its server allowed a smaller table", () => {
  fc.assert(
    fc.property(requests, fc.nat(20), fc.nat(2 * maximumTableBytes), (sent, limitedAfter, tableBytes) => {
      const encoder = new RequestHeaderEncoder();
      let decoder = new HeaderDecoder();
      for (const [count, fields] of sent.entries()) {
        const isLimited = count >= limitedAfter && tableBytes < maximumTableBytes;
        if (count === limitedAfter) encoder.limitTable(tableBytes);
        encoder.check(fields);
        const block = encoder.encode(fields);
        // From now on, no block may need a table. The first one says so (RFC 7541 section 4.2).
        if (isLimited) decoder = new HeaderDecoder();
        assert.equal(block[0] === emptyTable, isLimited && count === limitedAfter);
        const received: HeaderFields[number][] = [];
        decoder.decode(block, {
          add: (name, value) => void received.push([name, value]),
          addInvalid: () => assert.fail("a field is invalid"),
        });
        assert.deepEqual(received, fields);
      }
    }),
  );
});
