/**
 * `npm run test:h2spec`: h2spec's 146 cases against a session of HTTP/2. h2spec has to be on the PATH:
 * `go install github.com/summerwind/h2spec/cmd/h2spec@latest`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { Http2Session } from "../../../src/machinery/http2/http2-session.ts";
import type { Http2Stream } from "../../../src/machinery/http2/http2-stream.ts";
import { answerText, limits } from "./frame-client.ts";

const ignored = (): void => undefined;
const answer = (stream: Http2Stream): void =>
  stream.readBody({
    maximumBytes: 100_000,
    whole: () => answerText(stream, "an answer that is longer than the small windows of some cases"),
    tooLarge: ignored,
    brokenOff: ignored,
  });

const server = createServer((socket) => {
  const session = new Http2Session({
    socket,
    limits: { ...limits, headerBytes: 64 * 1024, concurrentStreams: 100 },
    nowSeconds: () => 0,
    onRequest: answer,
  });
  socket.on("data", (bytes: Buffer) => session.read(bytes));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

const h2spec = spawn("h2spec", ["--host", "127.0.0.1", "--port", String(port), "--strict"], { stdio: "inherit" });
h2spec.on("error", (error) => {
  console.error(`h2spec can't be started (${error.message}). Install it with:`);
  console.error("  go install github.com/summerwind/h2spec/cmd/h2spec@latest");
  process.exit(2);
});
const [code] = (await once(h2spec, "exit")) as [number | null];
process.exit(code ?? 1);
