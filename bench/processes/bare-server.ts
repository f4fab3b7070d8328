/**
 * The upper limit of what this runtime can do: an HTTP/2 + TLS server that answers every request with the same bytes, and `/bytes/N`
 * with N bytes. Forked; it sends its port to the parent and ends with it.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directory = mkdtempSync(join(tmpdir(), "bare-server-"));
const keyFile = join(directory, "key");
const certificateFile = join(directory, "certificate");
const openssl = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost";
execFileSync("openssl", [...openssl.split(" "), "-keyout", keyFile, "-out", certificateFile], { stdio: "ignore" });
const server = http2.createSecureServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) });
rmSync(directory, { recursive: true });

const answer = Buffer.from(
  JSON.stringify({
    kind: "ServiceAccount",
    apiVersion: "v1",
    metadata: {
      name: "bench",
      namespace: "bench",
      uid: "00000000-0000-0000-0000-000000000000",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
  }),
);
server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
  const path = headers[":path"] ?? "/";
  const bytes = path.startsWith("/bytes/") ? Buffer.alloc(Number(path.slice(7)), 120) : answer;
  stream.resume();
  stream.respond({ ":status": 200, "content-type": "application/json", "content-length": bytes.length });
  stream.end(bytes);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" ? address?.port : undefined);
});
process.on("disconnect", () => process.exit());
