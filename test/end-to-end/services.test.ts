import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join, resolve } from "node:path";
import { connect } from "node:tls";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { freePort } from "../../bench/processes/free-ports.ts";
import { eventually } from "./eventually.ts";
import { SignetProcess } from "./signet-process.ts";
import { SteadyRequests } from "./steady-requests.ts";

const execute = promisify(execFile);
const postgresBin = ["15", "16", "17", "18"].map((version) => `/usr/lib/postgresql/${version}/bin`).find(existsSync);
const missing = [
  process.getuid?.() === 0 ? undefined : "root, because PostgreSQL's files are given to its user,",
  existsSync("/usr/sbin/nginx") ? undefined : "nginx",
  postgresBin === undefined ? "PostgreSQL" : undefined,
  spawnSync("java", ["-version"]).status === 0 ? undefined : "Java",
].find((one) => one !== undefined);

/** As `docs/services.md` shows, with other ports and folders. */
const signers = `
apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: example.com/services
    certificateAuthority: { generate: { commonName: Services of example.com } }
    dnsNames: ["*.services.example"]
    maximumLifetime: 24h
`;
const names = "[web.services.example, db.services.example, api.services.example]";
const policy = `
rules:
  - name: node-serving
    match: { signers: [platform.io/nodeagent-serving], groups: ["system:nodes"] }
    action: approve
    require: { namesBelongToNode: true, ipRanges: [10.0.0.0/8] }
  - name: services-of-app-1
    match: { signers: [example.com/services], users: ["system:node:app-1"] }
    action: approve
    require:
      commonNames: ${names}
      dnsNames: ${names}
      keys: [{ type: ECDSA, minimumBits: 256 }, { type: RSA, minimumBits: 2048 }]
`;

describe("nginx, PostgreSQL and a Java service", { skip: missing && `${missing} is missing` }, () => {
  // Not in TMPDIR: nginx, the shell and PostgreSQL each write a path with a space or quote in their own way.
  const folder = mkdtempSync("/tmp/signet-services-");
  const inFolder = (name: string): string => join(folder, name);
  const bundle = inFolder("services.pem");
  const programs: ChildProcess[] = [];
  let server: SignetProcess | undefined;
  let agent: SignetProcess | undefined;
  let ports = { web: 0, db: 0, api: 0 };

  const run = (command: string, args: readonly string[]): ChildProcess => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    programs.push(child);
    return child;
  };
  const get = (service: "web" | "api"): Promise<string> =>
    new Promise((done, reject) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port: ports[service],
          servername: `${service}.services.example`,
          ca: readFileSync(bundle),
          agent: false,
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("error", reject).on("end", () => done(text));
        },
      );
      sent.on("error", reject).end();
    });
  const query = async (sql: string): Promise<string> => {
    const target = `host=db.services.example hostaddr=127.0.0.1 port=${ports.db} user=postgres dbname=postgres`;
    const { stdout } = await execute("psql", [
      "-qtAX",
      "-c",
      sql,
      `${target} sslmode=verify-full sslrootcert=${bundle}`,
    ]);
    return stdout.trim();
  };
  const servedSerial = async (service: "web" | "api"): Promise<string> => {
    const options = { host: "127.0.0.1", port: ports[service], servername: `${service}.services.example` };
    const socket = connect({ ...options, ca: readFileSync(bundle) });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerCertificate().serialNumber;
    } finally {
      socket.destroy();
    }
  };
  /** The times of the server's certificate, as openssl reads it from the handshake of PostgreSQL's protocol. */
  const databaseSerial = async (): Promise<string> => {
    const line = `openssl s_client -starttls postgres -connect 127.0.0.1:${ports.db} </dev/null 2>/dev/null | openssl x509 -noout -serial`;
    return (await execute("/bin/sh", ["-c", line])).stdout;
  };
  const serials = (): Promise<string[]> => Promise.all([servedSerial("web"), databaseSerial(), servedSerial("api")]);

  before(async () => {
    if (missing !== undefined) return;
    chmodSync(folder, 0o755);
    ports = { web: await freePort(), db: await freePort(), api: await freePort() };
    writeFileSync(inFolder("signers.yaml"), signers);
    writeFileSync(inFolder("policy.yaml"), policy);
    writeFileSync(inFolder("store.password"), "a password of this test\n", { mode: 0o600 });
    writeFileSync(
      inFolder("nginx.conf"),
      `pid ${folder}/nginx.pid; error_log ${folder}/nginx.log; daemon off; events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:${ports.web} ssl;
    ssl_certificate ${folder}/web.pem;
    ssl_certificate_key ${folder}/web.pem;
    location / { return 200 "from nginx\\n"; }
  }
}`,
    );
    writeFileSync(
      inFolder("agent.yaml"),
      `apiVersion: signet.platform.io/v1
kind: AgentConfiguration
kubeconfig: bootstrap.kubeconfig
nodeName: app-1
nodeAddresses: [10.0.0.7]
dataDirectory: agent
listen: { port: 0 }
trustBundles:
  - { signer: example.com/services, file: ${bundle} }
  - { signer: example.com/services, pkcs12: trust.p12 }
  - { signer: example.com/services, jks: trust.jks, passwordFile: store.password }
  - { name: "platform.io:nodeagent-serving:ca", pkcs12: other.p12 }
certificates:
  - name: web
    signer: example.com/services
    commonName: web.services.example
    dnsNames: [web.services.example]
    files: [{ pem: web.pem }]
    hook:
      check: nginx -t -q -c ${folder}/nginx.conf
      command: test ! -s ${folder}/nginx.pid || nginx -s reload -c ${folder}/nginx.conf
  - name: db
    signer: example.com/services
    commonName: db.services.example
    dnsNames: [db.services.example]
    files: [{ folder: db, key: server.key, fullChain: server.crt, owner: postgres, group: postgres }]
    hook:
      command: >-
        test ! -e ${folder}/postgres/postmaster.pid ||
        setpriv --reuid postgres --regid postgres --clear-groups
        sh -c 'kill -HUP "$(head -n 1 ${folder}/postgres/postmaster.pid)"'
  - name: api
    signer: example.com/services
    commonName: api.services.example
    dnsNames: [api.services.example]
    keyType: RSA 2048
    files: [{ pkcs12: store.p12, passwordFile: store.password }]
`,
    );
    server = new SignetProcess(
      ...["serve", "--data-dir", inFolder("server"), "--secure-port", "0"],
      ...["--signer-config", inFolder("signers.yaml"), "--approval-policy", inFolder("policy.yaml")],
    );
    await server.find(/(ready in)/);
    const kubeconfig = join(inFolder("server"), "admin.kubeconfig");
    await SignetProcess.run(
      ...["bootstrap-token", "create", "--kubeconfig", kubeconfig, "--ttl", "10m"],
      ...["--kubeconfig-file", inFolder("bootstrap.kubeconfig")],
    );
    await SignetProcess.run("agent", "once", "--config", inFolder("agent.yaml"), "--timeout", "40s");
    agent = new SignetProcess("agent", "--config", inFolder("agent.yaml"));
    await agent.find(/(serves on port)/);

    // First, because it compiles its source; with the fast compiler alone.
    const source = resolve(import.meta.dirname, "services/Service.java");
    const store = [inFolder("store.p12"), inFolder("store.password")];
    run("java", ["-XX:TieredStopAtLevel=1", source, ...store, String(ports.api)]);
    run("nginx", ["-c", inFolder("nginx.conf")]);
    const asPostgres = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"];
    const data = inFolder("postgres");
    mkdirSync(data);
    await execute("chown", ["postgres:postgres", data]);
    await execute("setpriv", [...asPostgres, `${postgresBin}/initdb`, "-D", data, "-A", "trust", "-U", "postgres"]);
    run("setpriv", [
      ...[...asPostgres, `${postgresBin}/postgres`, "-D", data, "-c", `port=${ports.db}`],
      ...["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${data}`, "-c", "ssl=on"],
      ...["-c", `ssl_cert_file=${folder}/db/server.crt`, "-c", `ssl_key_file=${folder}/db/server.key`],
      ...["-c", "logging_collector=off", "-c", "log_destination=syslog", "-c", "fsync=off"],
    ]);
    await eventually(
      "all three answer",
      async () => (await Promise.all([get("web"), query("select 1"), get("api")])).length,
    );
  });

  after(async () => {
    if (missing !== undefined) return;
    for (const program of programs) {
      if (program.exitCode !== null) continue;
      program.kill("SIGTERM");
      await once(program, "exit");
    }
    await agent?.end();
    await server?.end();
    rmSync(folder, { recursive: true });
  });

  it("each serve with a certificate of their own name, which the followed trust bundle verifies", async () => {
    assert.deepEqual(await Promise.all([get("web"), query("select 1"), get("api")]), [
      "from nginx\n",
      "1",
      "from Java\n",
    ]);
    assert.equal(new Set(await serials()).size, 3);
  });

  it("are trusted by a Java client through the trust stores of their signer, and not through those of another", async () => {
    const client = resolve(import.meta.dirname, "services/Client.java");
    const ask = async (store: string, password: string): Promise<string> => {
      const properties = { trustStore: inFolder(store), trustStorePassword: password };
      const flags = Object.entries(properties).map(([name, value]) => `-Djavax.net.ssl.${name}=${value}`);
      const target = ["api.services.example", String(ports.api)];
      return (await execute("java", ["-XX:TieredStopAtLevel=1", ...flags, client, ...target])).stdout;
    };
    assert.match(await ask("trust.p12", "changeit"), /from Java\n$/);
    assert.match(await ask("trust.jks", "a password of this test"), /from Java\n$/);
    await assert.rejects(ask("other.p12", "changeit"), /unable to find valid certification path to requested target/);
  });

  it("use renewed certificates without a lost request", async () => {
    const requests = new SteadyRequests([() => get("web"), () => query("select 1"), () => get("api")]);
    for (let round = 0; round < 2; round++) {
      const before = await serials();
      agent?.signal("SIGUSR2");
      await eventually("all three serve with new certificates", async () =>
        (await serials()).every((serial) => !before.includes(serial)),
      );
      const answers = requests.answers;
      await eventually("requests with the new certificates", () => requests.answers > answers + 20);
    }
    await requests.stop();
    assert.deepEqual(requests.failures, []);
  });
});
