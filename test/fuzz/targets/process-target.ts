import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminToken, startServerProcess } from "../../../bench/processes/server-process.ts";
import type { Profile } from "../../../src/machinery/api/names.ts";
import type { FuzzAnswer, FuzzRequest } from "../fuzz-request.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { Http1Connection } from "./http1-connection.ts";
import { Http2Connection } from "./http2-connection.ts";

/** Some inputs wait (for a future revision), while others continue. */
const lanes = 16;

/** `signet serve --workers 1` in a separate process, over TLS. */
export async function startProcessTarget(options: {
  readonly profile: Profile;
  /** PEM of the CA that it trusts for clients and front proxies. */
  readonly authority: string;
}): Promise<FuzzTarget> {
  const scratch = mkdtempSync(join(tmpdir(), "signet-fuzz-"));
  const authorityFile = join(scratch, "fuzz-ca.pem");
  writeFileSync(authorityFile, options.authority);
  const server = await startServerProcess(join(scratch, "data"), {
    flags: [
      "--workers=1",
      `--profile=${options.profile}`,
      `--client-ca-file=${authorityFile}`,
      `--requestheader-client-ca-file=${authorityFile}`,
      `--audit-log-path=${join(scratch, "audit.log")}`,
      "--log-level=error",
    ],
  });
  const { process: child, url, caCertificates: ca } = server;
  let endReason: string | undefined;
  child.once("exit", (code, signal) => (endReason = `exit code ${code}, signal ${signal}`));
  const port = Number(new URL(url).port);
  const idle = Array.from({ length: lanes }, () => new Http1Connection({ port, ca }));
  const http2 = new Http2Connection({ url, ca });

  const sendHttp1 = async (request: FuzzRequest): Promise<FuzzAnswer> => {
    const connection = idle.pop() ?? new Http1Connection({ port, ca });
    try {
      return await connection.send(request);
    } finally {
      idle.push(connection);
    }
  };

  return {
    adminToken,
    concurrency: lanes,
    send: async (request) => {
      // Requests that the runtime's HTTP/2 client refuses to send go through the HTTP/1.1 client, which sends everything.
      const answer = request.protocol === "h2" ? await http2.send(request) : undefined;
      return answer ?? sendHttp1(request);
    },
    // Nanoseconds that the thread has run (proc(5)).
    cpuMilliseconds: () =>
      Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6,
    residentMebibytes: () => server.residentMebibytes(),
    endReason: () => endReason,
    stop: async () => {
      for (const connection of idle) connection.close();
      http2.close();
      await server.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
