import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { openTlsSite } from "../tls-site.ts";
import { fetchDocument } from "../../../../src/features/federation/oidc/fetch-document.ts";

/** Node.js stops these clocks too; its types do not say so. */
const signalTimeout = "AbortSignal.timeout" as "setTimeout";

describe("a document of an issuer", () => {
  const asked: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    asked.push(request.url ?? "");
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  const fetched = (url: string): Promise<unknown> =>
    fetchDocument(url, { certificateAuthority: undefined, signal: new AbortController().signal });

  before(async () => {
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    process.env["HTTPS_PROXY"] = `http://user:password@127.0.0.1:${(proxy.address() as AddressInfo).port}`; // listens on a port
    process.env["NO_PROXY"] = "direct.invalid";
  });
  after(() => {
    delete process.env["HTTPS_PROXY"];
    delete process.env["NO_PROXY"];
    proxy.close();
  });

  it("is fetched through the proxy of the environment, except from loopback and the hosts of NO_PROXY", async () => {
    await assert.rejects(fetched("https://login.invalid/keys"), (error: Error) => {
      assert.match(error.message, /^https:\/\/login\.invalid\/keys: .*502/);
      assert.ok(!error.message.includes("password"));
      return true;
    });
    await assert.rejects(fetched("https://direct.invalid/keys"));
    await assert.rejects(fetched("https://127.0.0.1:1/keys"), /ECONNREFUSED/);
    assert.deepEqual(asked, ["login.invalid:443"]);
  });

  it("may be compressed, and is no longer than 1 MiB then either", async () => {
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    const answered = async (body: Buffer, encoding = "gzip"): Promise<unknown> => {
      site.answer = (_, response) => response.writeHead(200, { "content-encoding": encoding }).end(body);
      const { value } = await fetchDocument(site.url, { certificateAuthority, signal: new AbortController().signal });
      return value;
    };
    const compressed = gzipSync('{"keys":[]}');
    assert.deepEqual(await answered(compressed), { keys: [] });
    assert.deepEqual(await answered(compressed, "GZIP"), { keys: [] });
    await assert.rejects(answered(gzipSync(Buffer.alloc(2 ** 30 / 8, " "))), /larger than 1 MiB/);
    // RFC 1952 section 2.3: the header may have a file's name, which no output shows.
    const named = Buffer.concat([compressed.subarray(0, 10), Buffer.alloc(2 ** 20, "a"), compressed.subarray(9)]);
    named[3] = 8;
    named[10 + 2 ** 20] = 0;
    await assert.rejects(answered(named), /larger than 1 MiB/);
    await assert.rejects(answered(compressed.subarray(0, -8)), /unexpected end of file/);
    await assert.rejects(answered(Buffer.from("{}")), /incorrect header check/);
  });

  it("says in Cache-Control how long it may be kept", async () => {
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    for (const [cacheControl, milliseconds] of [
      ["max-age=60", 60_000],
      ["public,MAX-AGE=60, must-revalidate", 60_000],
      ['public, max-age="0"', 0],
      ["s-maxage=60", undefined],
      ["no-cache", undefined],
      ["max-age=-1", undefined],
    ] as const) {
      site.answer = (_, response) => response.writeHead(200, { "cache-control": cacheControl }).end("{}");
      const signal = new AbortController().signal;
      const { maximumAgeMilliseconds } = await fetchDocument(site.url, { certificateAuthority, signal });
      assert.equal(maximumAgeMilliseconds, milliseconds, cacheControl);
    }
  });

  it("may not come in many thousands of parts, compressed or not", async () => {
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    const signal = new AbortController().signal;
    const chunk = (bytes: string): string => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;
    // RFC 1952 section 2.3: a header with a file's name, which has no end here.
    const header = "\x1f\x8b\x08\x08\0\0\0\0\0\x03";
    for (const head of ["\r\n", `content-encoding: gzip\r\n\r\n${chunk(header)}`]) {
      const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${head}${chunk(" ").repeat(20_000)}${chunk("")}`;
      site.answer = ({ socket }) => socket.end(answer, "latin1");
      await assert.rejects(fetchDocument(site.url, { certificateAuthority, signal }), /comes in too many parts/);
    }
  });

  it("may not have too many values, or be nested too deeply", async () => {
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    for (const [unknown, fault] of [
      [`[${"{},".repeat(30_000)}{}]`, /too many values/],
      ["[".repeat(10_000) + "]".repeat(10_000), /nested too deeply/],
    ] as const) {
      site.answer = (_, response) => response.writeHead(200).end(`{"keys":[],"unknown":${unknown}}`);
      const signal = new AbortController().signal;
      await assert.rejects(fetchDocument(site.url, { certificateAuthority, signal }), fault);
    }
  });

  it("may not come after interim answers without end", async () => {
    await using site = await openTlsSite();
    site.answer = ({ socket }) => socket.end("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(20_000));
    const { caCertificate: certificateAuthority } = site;
    const signal = new AbortController().signal;
    await assert.rejects(fetchDocument(site.url, { certificateAuthority, signal }), /interim answers without end/);
  });

  it("comes within ten seconds in all, or not at all", async (t) => {
    t.mock.timers.enable({ apis: [signalTimeout] });
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    const asked = new Promise<void>((resolve) => {
      site.answer = () => resolve();
    });
    const signal = new AbortController().signal;
    const fetched = assert.rejects(fetchDocument(site.url, { certificateAuthority, signal }), /: no answer in time$/);
    await asked;
    t.mock.timers.tick(10_000);
    await fetched;
  });

  it("is waited for no longer by one who gives it up", async (t) => {
    t.mock.timers.enable({ apis: [signalTimeout] });
    await using site = await openTlsSite();
    const { caCertificate: certificateAuthority } = site;
    const giveUp = new AbortController();
    site.answer = () => giveUp.abort();
    await assert.rejects(fetchDocument(site.url, { certificateAuthority, signal: giveUp.signal }), /no answer in time/);
  });

  it("cannot be had where the answer changes the protocol", async () => {
    await using site = await openTlsSite();
    site.answer = (_, response) => response.writeHead(101, { connection: "upgrade", upgrade: "other" }).end();
    const { caCertificate: certificateAuthority } = site;
    const signal = new AbortController().signal;
    await assert.rejects(fetchDocument(site.url, { certificateAuthority, signal }), /without an answer/);
  });
});
