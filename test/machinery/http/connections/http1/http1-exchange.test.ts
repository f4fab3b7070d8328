import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { endWith } from "../../../../../src/machinery/http/connections/http1/http1-exchange.ts";

describe("a long answer over HTTP/1.1", () => {
  it("is handed to its connection in parts, as the client reads it", async () => {
    const body = Buffer.alloc(32 * 1024 * 1024, "0123456789");
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on TCP
    get({ host: "127.0.0.1", port, agent: false }, (answer) => answers.resolve(answer));
    const answers = Promise.withResolvers<IncomingMessage>();
    const [, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse]; // what Node.js gives
    response.setHeader("content-length", body.length);
    endWith(response, body);
    let longestWait = response.writableLength;
    response.on("drain", () => (longestWait = Math.max(longestWait, response.writableLength)));
    const read: Buffer[] = [];
    for await (const bytes of await answers.promise) read.push(bytes as Buffer); // without an encoding
    server.close();
    assert.ok(Buffer.concat(read).equals(body));
    assert.ok(longestWait < 1024 * 1024, `${longestWait} bytes waited`);
  });
});
