import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { duplexPair } from "node:stream";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { HeaderDecoder } from "../../../src/machinery/http2/header-decoder.ts";
import { Http2Session } from "../../../src/machinery/http2/http2-session.ts";
import { ConnectionError } from "../../../src/machinery/http2/protocol.ts";
import { limits } from "./frame-client.ts";

function decode(decoder: HeaderDecoder, hex: string): string[] {
  const fields: string[] = [];
  decoder.decode(Buffer.from(hex.replaceAll(/\s/g, ""), "hex"), {
    add: (name, value) => void fields.push(`${name}: ${value}`),
    addInvalid: () => void fields.push("invalid"),
  });
  return fields;
}

const requests = [
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
  [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
];

describe("the decoder of header blocks", () => {
  it("reads the requests of RFC 7541 appendix C.3", () => {
    const decoder = new HeaderDecoder();
    const blocks = [
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    assert.deepEqual(
      blocks.map((block) => decode(decoder, block)),
      requests,
    );
  });

  it("reads the Huffman coded requests of RFC 7541 appendix C.4", () => {
    const decoder = new HeaderDecoder();
    const blocks = [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    assert.deepEqual(
      blocks.map((block) => decode(decoder, block)),
      requests,
    );
  });

  it("evicts old fields from a small table, as in RFC 7541 appendix C.5", () => {
    const decoder = new HeaderDecoder();
    const smallTable = "3fe1 01";
    decode(
      decoder,
      `${smallTable} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
    );
    assert.deepEqual(decode(decoder, "4803 3330 37c1 c0bf"), [
      ":status: 307",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:21 GMT",
      "location: https://www.example.com",
    ]);
    // The first field was 302, which is forgotten: five fields are more than the table had.
    assert.throws(() => decode(decoder, "c2"), ConnectionError);
  });

  it("evicts all fields for one that is larger than the table, and does not store that one", () => {
    const decoder = new HeaderDecoder();
    decode(decoder, "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d");
    decode(decoder, `3f09 40 01 61 7f 0a ${"62".repeat(137)}`);
    assert.throws(() => decode(decoder, "be"), ConnectionError);
  });

  it("takes two table size updates at the beginning of a block and no more, each of which costs time", () => {
    const decoder = new HeaderDecoder();
    assert.deepEqual(decode(decoder, "20 3fe11f 82"), [":method: GET"]);
    assert.throws(() => decode(decoder, "20 20 20 82"), ConnectionError);
    assert.throws(() => decode(decoder, "82 20"), ConnectionError);
  });

  it("marks a field that HTTP does not allow, also when it is repeated from the table", () => {
    const decoder = new HeaderDecoder();
    assert.deepEqual(decode(decoder, "4001 61 02 620a"), ["invalid"]);
    assert.deepEqual(decode(decoder, "be 82"), ["invalid", ":method: GET"]);
  });

  it("checks a long name once, however many fields repeat it from the table", (context) => {
    const repeated = 10_000;
    const test = context.mock.method(RegExp.prototype, "test");
    decode(new HeaderDecoder(), `407f 8101 ${"61".repeat(256)} 00 ${"0f2f 00".repeat(repeated)}`);
    const checkedCharacters = test.mock.calls.reduce((sum, call) => sum + call.arguments[0].length, 0);
    assert.ok(checkedCharacters < repeated);
  });

  it("refuses Huffman codes that end wrongly", () => {
    for (const [what, hex] of [
      ["with zeros", "4001 61 81 18"],
      ["with a whole byte of ones", "4001 61 82 1fff"],
      ["with the symbol for the end", "4001 61 84 ffff ffff"],
      ["with the symbol for the end before others", "4001 61 85 ffff fffc 0f"],
    ])
      assert.throws(() => decode(new HeaderDecoder(), hex ?? ""), ConnectionError, what);
    assert.deepEqual(decode(new HeaderDecoder(), "4001 61 81 1f"), ["a: a"]);
  });

  it("refuses a block that breaks off within a field or within a table size update", () => {
    for (const [what, hex] of [
      ["a name and a value", "40 03 616263 02 6465"],
      ["Huffman codes", "40 83 25a849 86 a8eb1064 9cbf"],
      ["a name of the table", "0f 2f 02 6465"],
      ["a long length", `40 01 61 7f 8101 ${"62".repeat(256)}`],
      ["a long index", "ff 00"],
      ["a size", "3f e1 1f"],
    ] as const) {
      const octets = hex.replaceAll(" ", "").match(/../g) ?? [];
      for (let length = 1; length < octets.length; length++) {
        const begin = octets.slice(0, length).join("");
        assert.throws(() => decode(new HeaderDecoder(), begin), ConnectionError, `${what}: ${begin}`);
      }
    }
  });

  it("ends every block of random bytes with fields or with a fault of the connection", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }), (blocks) => {
        const decoder = new HeaderDecoder();
        try {
          for (const block of blocks) decode(decoder, Buffer.from(block).toString("hex"));
        } catch (error) {
          assert.ok(error instanceof ConnectionError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  describe("the decoder of header blocks, fed by the encoder of Node.js,", () => {
    let client: ClientHttp2Session;
    let received: Record<string, string | string[]> = {};
    before(async () => {
      const [near, far] = duplexPair();
      const session = new Http2Session({
        socket: far,
        limits: { ...limits, headerBytes: 64 * 1024, headerCount: 500 },
        nowSeconds: () => 0,
        onRequest: (stream, head) => {
          received = head.headers;
          stream.respond({ status: 204, headers: {} }, undefined);
        },
      });
      far.on("data", (bytes: Buffer) => session.read(bytes));
      client = connect("http://localhost", { createConnection: () => near });
      await once(client, "remoteSettings");
    });
    after(() => client.destroy());

    it("decodes all headers that were sent", () =>
      fc.assert(
        fc.asyncProperty(
          fc.dictionary(
            fc.stringMatching(/^x-[a-z0-9]{1,12}$/),
            fc.oneof(
              fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/),
              fc.string({
                unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
                maxLength: 900,
              }),
            ),
            { maxKeys: 12 },
          ),
          async (headers) => {
            const stream = client.request({ ":path": "/", ...headers });
            await once(stream.resume(), "close");
            assert.deepEqual({ ...received }, { ...headers });
          },
        ),
        { numRuns: 300 },
      ));
  });
});
