import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import type { TestContext } from "node:test";

interface RefusingProxy {
  readonly url: string;
  /** The hosts that it was asked for. */
  readonly asked: readonly string[];
}

/** Lets a proxy listen until the test ends. Returns its URL. */
export async function listenAsProxy(proxy: Server, context: TestContext): Promise<string> {
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  context.after(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // listens on a port
}

/** A proxy that refuses every connection. */
export async function refusingProxy(context: TestContext): Promise<RefusingProxy> {
  const asked: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    asked.push(request.url ?? "");
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  return { url: await listenAsProxy(proxy, context), asked };
}

/** The same, and HTTPS_PROXY names it until the test ends. */
export async function environmentProxy(context: TestContext): Promise<RefusingProxy> {
  const proxy = await refusingProxy(context);
  process.env["HTTPS_PROXY"] = proxy.url;
  context.after(() => {
    delete process.env["HTTPS_PROXY"];
  });
  return proxy;
}
