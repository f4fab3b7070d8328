import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import type { Profile } from "../../../src/machinery/api/names.ts";
import { headersOf } from "../../../src/machinery/http/connections/http1/http1-head.ts";
import { readBodyOf } from "../../read-body-of.ts";
import { startTemporaryServer } from "../../test-server.ts";
import type { FuzzRequest } from "../fuzz-request.ts";
import type { FuzzTarget } from "./fuzz-target.ts";

/** A server in this process whose chain is called without a connection: for speed, and for certificates of every sort. */
export async function startInProcessTarget(options: {
  readonly profile: Profile;
  /** PEM of the CA that it trusts for clients and front proxies. */
  readonly authority: string;
}): Promise<FuzzTarget> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-fuzz-"));
  const authorityFile = join(scratch, "fuzz-ca.pem");
  writeFileSync(authorityFile, options.authority);
  const server = await startTemporaryServer({
    profile: options.profile,
    settings: { "client-ca-file": authorityFile, "requestheader-client-ca-file": authorityFile },
  });
  const send = async (request: FuzzRequest): Promise<HttpResponse> => {
    const { method, target, headers, body, peerCertificate } = request;
    const at = target.indexOf("?");
    return server.handler({
      method,
      path: at < 0 ? target : target.slice(0, at),
      query: at < 0 ? "" : target.slice(at + 1),
      headers: headersOf(headers.flat()),
      connection: {
        remoteAddress: "127.0.0.1",
        peerCertificates: peerCertificate === undefined ? [] : [peerCertificate],
      },
      readBody: readBodyOf(Buffer.from(body)),
      signal: new AbortController().signal,
    });
  };
  return {
    adminToken: server.adminToken,
    // Some inputs wait (for a future revision), while others continue.
    concurrency: 16,
    send: async (request) => {
      const { status, headers, body } = await send(request);
      const fields = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      if (typeof body === "string" || Buffer.isBuffer(body)) {
        return { status, headers: fields, body: Buffer.from(body), isStream: false };
      }
      body.start({ write: () => {}, bufferedBytes: () => 0, end: () => {} })();
      return { status, headers: fields, body: Buffer.alloc(0), isStream: true };
    },
    cpuMilliseconds: () => {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1_000;
    },
    residentMebibytes: () => process.memoryUsage.rss() / 2 ** 20,
    endReason: () => undefined,
    stop: async () => {
      await server.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
