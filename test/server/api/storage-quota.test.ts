import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { Headers } from "../../../src/machinery/api/http-message.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { WriteAbandoned } from "../../../src/machinery/storage/store.ts";
import type { Store } from "../../../src/machinery/storage/store.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { Answer, SentRequest } from "../in-process.ts";
import { keptStore } from "../kept-store.ts";

const maximumBytes = 262_144;
const settings = { "max-request-bytes": 65_536, "max-namespace-bytes": maximumBytes };
const rbac = "/apis/rbac.authorization.platform.io/v1";
const merge = { "content-type": "application/merge-patch+json" };
const asAlice = { "impersonate-user": "alice" };
const configMapsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const configMap = (name: string, bytes: number): object => ({ metadata: { name }, data: { text: "x".repeat(bytes) } });

/** Sends requests as alice, who may do everything, but is no member of system:masters. */
class Alice {
  readonly admin: InProcess;

  constructor(server: TestServer) {
    this.admin = new InProcess(server);
  }

  send(target: string, { headers, ...sent }: SentRequest = {}): Promise<Answer> {
    return this.admin.json(target, { ...sent, headers: { ...asAlice, ...headers } });
  }

  async status(target: string, { headers, ...sent }: SentRequest = {}): Promise<number> {
    return (await this.admin.send(target, { ...sent, headers: { ...asAlice, ...headers } })).status;
  }

  async grant(): Promise<void> {
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "cluster-admin" };
    const subjects = [{ kind: "User", name: "alice" }];
    await this.admin.send(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: { metadata: { name: "alice" }, roleRef, subjects },
    });
  }

  async makeNamespace(name: string): Promise<void> {
    assert.equal(await this.status("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } }), 201);
  }

  /** Creates config maps of 60,000 bytes until one is refused. Returns how many there are, and the refusal. */
  async fill(namespace: string): Promise<{ readonly count: number; readonly refusal: Answer }> {
    for (let count = 0; ; count += 1) {
      const refusal = await this.send(configMapsIn(namespace), {
        method: "POST",
        body: configMap(`fill-${count}`, 60_000),
      });
      if (refusal.kind === "Status") return { count, refusal };
    }
  }
}

for (const storage of ["memory", "lmdb"] as const) {
  describe(`a full namespace (${storage})`, () => {
    let server: TestServer;
    let alice: Alice;
    const maps = configMapsIn("full");
    before(async () => {
      server = await startTestServer({ storage, settings });
      alice = new Alice(server);
      await alice.grant();
      await alice.makeNamespace("full");
      const small = { metadata: { name: "small", finalizers: ["example.com/keep"] }, data: { text: "12345" } };
      await alice.send(maps, { method: "POST", body: small });
      await alice.send("/api/v1/namespaces/full/pods", { method: "POST", body: pod });
    });

    it("takes no more objects, and says so as upstream's quotas do", async () => {
      const { count, refusal } = await alice.fill("full");
      assert.equal(count, 4);
      assert.deepEqual([refusal.code, refusal.reason], [403, "Forbidden"]);
      const numbers = /requested: bytes=(\d+), used: bytes=(\d+), limited: bytes=262144/.exec(refusal.message);
      assert.ok(Number(numbers?.[1]) + Number(numbers?.[2]) > maximumBytes);
      assert.match(
        refusal.message,
        /^configmaps "fill-4" is forbidden: exceeded quota: max-namespace-bytes, requested: .*: delete objects in the namespace "full", or raise the limit$/,
      );
    });

    it("refuses a create, a generated name, a dry run, an apply, and changes that make an object longer", async () => {
      const body = configMap("more", 60_000);
      const longer = { data: { text: "x".repeat(60_000) } };
      const small = await alice.send(`${maps}/small`);
      const apply = { "content-type": "application/apply-patch+yaml" };
      const applied = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", ...configMap(name, 60_000) });
      const requests: [string, SentRequest][] = [
        [maps, { method: "POST", body }],
        [maps, { method: "POST", body: { ...body, metadata: { generateName: "more-" } } }],
        [`${maps}?dryRun=All`, { method: "POST", body }],
        [`${maps}/small`, { method: "PUT", body: { ...small, ...longer } }],
        [`${maps}/small`, { method: "PATCH", headers: merge, body: longer }],
        [`${maps}/small?dryRun=All`, { method: "PATCH", headers: merge, body: longer }],
        [`${maps}/more?fieldManager=m`, { method: "PATCH", headers: apply, body: applied("more") }],
        [`${maps}/small?fieldManager=m&force=true`, { method: "PATCH", headers: apply, body: applied("small") }],
      ];
      for (const [target, sent] of requests) {
        const { code, message } = await alice.send(target, sent);
        assert.deepEqual([code, /exceeded quota/.test(message)], [403, true], `${sent.method} ${target}`);
      }
    });

    it("takes changes that make no object longer, and the status of its objects", async () => {
      const change = (text: string): SentRequest => ({ method: "PATCH", headers: merge, body: { data: { text } } });
      assert.equal(await alice.status(`${maps}/fill-0`, change("y".repeat(60_000))), 200);
      assert.equal(await alice.status(`${maps}/fill-0`, change("y".repeat(59_999))), 200);
      const status = { message: "m".repeat(10_000) };
      const target = "/api/v1/namespaces/full/pods/one/status";
      assert.equal(await alice.status(target, { method: "PATCH", headers: merge, body: { status } }), 200);
    });

    it("lets its administrators and the controllers write", async () => {
      const body = configMap("repair", 60_000);
      assert.equal((await alice.admin.send(maps, { method: "POST", body })).status, 201);
      const headers = { "impersonate-user": "system:platform-controller-manager" };
      const account = { metadata: { name: "needed" } };
      const accounts = "/api/v1/namespaces/full/serviceaccounts";
      assert.equal((await alice.admin.send(accounts, { method: "POST", headers, body: account })).status, 201);
    });

    it("leaves other namespaces alone", async () => {
      assert.equal(
        await alice.status(configMapsIn("default"), { method: "POST", body: configMap("one", 60_000) }),
        201,
      );
    });

    it("shows in the metrics how full it is, and how many writes were refused", async () => {
      const metrics = String((await alice.admin.send("/metrics")).body);
      assert.ok(Number(/^signet_namespace_largest_fullness_ratio ([\d.]+)$/m.exec(metrics)?.[1]) > 1);
      assert.ok(Number(/^signet_namespace_quota_refusals_total (\d+)$/m.exec(metrics)?.[1]) >= 9);
    });

    it("has room again for what was deleted, one by one and as a collection, and marks what finalizers keep", async () => {
      const body = configMap("again", 50_000);
      assert.equal(await alice.status(`${maps}/small`, { method: "DELETE" }), 200);
      assert.equal(await alice.status(`${maps}/repair`, { method: "DELETE" }), 200);
      assert.equal(await alice.status(maps, { method: "POST", body }), 403);
      assert.equal(await alice.status(`${maps}/fill-0`, { method: "DELETE" }), 200);
      assert.equal(await alice.status(maps, { method: "POST", body }), 201);
      assert.equal(await alice.status(maps, { method: "POST", body: configMap("beyond", 60_000) }), 403);
      assert.equal(await alice.status(maps, { method: "DELETE" }), 200);
      assert.equal((await alice.fill("full")).count, 4);
    });

    it("holds no more when many writes come at once", async () => {
      await alice.makeNamespace("crowded");
      const statuses = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          alice.status(configMapsIn("crowded"), { method: "POST", body: configMap(`at-once-${index}`, 60_000) }),
        ),
      );
      assert.equal(statuses.filter((status) => status === 201).length, 4);
    });

    it("lets RoleBindings take a small part of it, because their index takes memory, and Events a quarter", async () => {
      await alice.makeNamespace("bound");
      const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "view" };
      const binding = (name: string, count: number): object => ({
        metadata: { name },
        roleRef,
        subjects: Array.from({ length: count }, (_, index) => ({ kind: "User", name: `user-${index}` })),
      });
      const bindings = `${rbac}/namespaces/bound/rolebindings`;
      assert.equal(await alice.status(bindings, { method: "POST", body: binding("some", 50) }), 201);
      const { code, message } = await alice.send(bindings, { method: "POST", body: binding("many", 50) });
      assert.deepEqual(
        [code, /requested: rolebindings\.bytes=\d+.*limited: rolebindings\.bytes=8192/.test(message)],
        [403, true],
      );
      const event = (name: string): object => ({
        metadata: { name, namespace: "bound", annotations: { text: "x".repeat(40_000) } },
        involvedObject: { namespace: "bound" },
      });
      const events = "/api/v1/namespaces/bound/events";
      assert.equal(await alice.status(events, { method: "POST", body: event("one") }), 201);
      assert.match(
        (await alice.send(events, { method: "POST", body: event("two") })).message,
        /limited: events\.bytes=65536/,
      );
      assert.equal(await alice.status(configMapsIn("bound"), { method: "POST", body: configMap("one", 60_000) }), 201);
    });

    it("lets Pods take half of it, with the status of mirror Pods, which a node makes wherever it likes", async () => {
      await alice.makeNamespace("mirrored");
      const headers = node("machine");
      const made = await alice.send("/api/v1/nodes", {
        method: "POST",
        headers,
        body: { metadata: { name: "machine" } },
      });
      const owner = { apiVersion: "v1", kind: "Node", name: "machine", uid: made.metadata.uid, controller: true };
      const pods = "/api/v1/namespaces/mirrored/pods";
      const mirror = (name: string): object => ({
        metadata: { name, annotations: { "platform.io/config.mirror": "x" }, ownerReferences: [owner] },
        spec: { ...pod.spec, nodeName: "machine" },
      });
      const report = (name: string, bytes: number): Promise<Answer> =>
        alice.send(`${pods}/${name}/status`, {
          method: "PATCH",
          headers: { ...headers, ...merge },
          body: { status: { message: "m".repeat(bytes) } },
        });
      for (const name of ["a", "b", "c"]) {
        assert.equal(await alice.status(pods, { method: "POST", headers, body: mirror(name) }), 201);
      }
      assert.deepEqual([(await report("a", 60_000)).kind, (await report("b", 60_000)).kind], ["Pod", "Pod"]);
      assert.match((await report("c", 60_000)).message, /limited: pods\.bytes=131072/);
      assert.equal((await report("b", 59_000)).kind, "Pod");
      // What others made and put on the node may say what is so.
      const placed = { metadata: { name: "placed" }, spec: { ...pod.spec, nodeName: "machine" } };
      assert.equal(await alice.status(pods, { method: "POST", body: placed }), 201);
      assert.equal((await report("placed", 60_000)).kind, "Pod");
      assert.match((await alice.send(pods, { method: "POST", body: pod })).message, /limited: pods\.bytes=131072/);
      const another = { method: "POST", body: configMap("one", 50_000) } as const;
      assert.equal(await alice.status(configMapsIn("mirrored"), another), 201);
    });
  });
}

const pod = { metadata: { name: "one" }, spec: { containers: [{ name: "c", image: "i" }] } };

const certificates = "/apis/certificates.platform.io/v1/certificatesigningrequests";
const records = "/apis/signet.platform.io/v1/issuedcertificates";
const request = readFileSync(new URL("../../conformance/fixtures/csr-ecdsa.pem", import.meta.url)).toString("base64");
const account = (namespace: string, name: string): Headers => ({
  "impersonate-user": `system:serviceaccount:${namespace}:${name}`,
  "impersonate-group": "system:bootstrappers",
});
const node = (name: string): Headers => ({
  "impersonate-user": `system:node:${name}`,
  "impersonate-group": "system:nodes",
});

/** Creates requests for certificates of 20,000 bytes, as users who may create nothing else without number. */
class Requesters {
  readonly admin: InProcess;
  readonly #names: string;
  #count = 0;

  constructor(server: TestServer, names = "request") {
    this.admin = new InProcess(server);
    this.#names = names;
  }

  async grant(): Promise<void> {
    const roleRef = {
      apiGroup: "rbac.authorization.platform.io",
      kind: "ClusterRole",
      name: "system:node-bootstrapper",
    };
    const subjects = [{ kind: "Group", name: "system:bootstrappers" }];
    const body = { metadata: { name: "join" }, roleRef, subjects };
    await this.admin.send(`${rbac}/clusterrolebindings`, { method: "POST", body });
  }

  request(headers: Headers, sent: SentRequest = {}): Promise<Answer> {
    this.#count += 1;
    const metadata = { name: `${this.#names}-${this.#count}`, annotations: { text: "x".repeat(20_000) } };
    const spec = { request, signerName: "example.com/signer", usages: ["client auth"] };
    return this.admin.json(certificates, { method: "POST", headers, body: { metadata, spec }, ...sent });
  }

  /** Requests until one is refused. Returns how many there are, and the refusal. */
  async requestUntilRefused(headers: Headers): Promise<{ readonly count: number; readonly refusal: Answer }> {
    for (let count = 0; ; count += 1) {
      const refusal = await this.request(headers);
      if (refusal.kind === "Status") return { count, refusal };
    }
  }

  record(name: string, username: string): Promise<Answer> {
    const spec = {
      signerName: "example.com/signer",
      serialNumber: "1",
      fingerprint: "a".repeat(64),
      notBefore: "2026-01-01T00:00:00Z",
      notAfter: "2099-01-01T00:00:00Z",
      username,
      certificate: Buffer.alloc(40_000).toString("base64"),
    };
    return this.admin.json(records, { method: "POST", body: { metadata: { name }, spec } });
  }
}

for (const storage of ["memory", "lmdb"] as const) {
  describe(`what is stored of a user's certificates (${storage})`, () => {
    let server: TestServer;
    let requesters: Requesters;
    before(async () => {
      server = await startTestServer({ storage, settings });
      requesters = new Requesters(server);
      await requesters.grant();
    });

    it("is a quarter of what a namespace may hold, for requests, and no other user has less for it", async () => {
      const { count, refusal } = await requesters.requestUntilRefused(node("one"));
      assert.equal(count, 3);
      assert.deepEqual([refusal.code, refusal.reason], [403, "Forbidden"]);
      assert.match(
        refusal.message,
        /^certificatesigningrequests\.certificates\.platform\.io "request-4" is forbidden: exceeded quota: max-namespace-bytes, requested: certificatesigningrequests\.bytes=\d+, .* limited: certificatesigningrequests\.bytes=65536: delete what was made for the user "system:node:one", wait until it is removed, or raise the limit$/,
      );
      assert.equal((await requesters.requestUntilRefused(node("two"))).count, 3);
    });

    it("does not keep administrators from requesting", async () => {
      for (let index = 0; index < 5; index++) {
        assert.equal((await requesters.request({})).kind, "CertificateSigningRequest");
      }
    });

    it("counts for all service accounts of a namespace together", async () => {
      assert.equal((await requesters.requestUntilRefused(account("a", "one"))).count, 3);
      assert.equal((await requesters.requestUntilRefused(account("a", "two"))).count, 0);
      assert.equal((await requesters.requestUntilRefused(account("b", "one"))).count, 3);
    });

    it("is free again when requests are removed", async () => {
      assert.equal((await requesters.requestUntilRefused(node("one"))).count, 0);
      assert.equal((await requesters.admin.send(`${certificates}/request-1`, { method: "DELETE" })).status, 200);
      assert.equal((await requesters.requestUntilRefused(node("one"))).count, 1);
    });

    it("contains the records of certificates, which stay after their requests, up to all that a namespace may hold", async () => {
      const machine = { "impersonate-user": "machine", "impersonate-group": "system:bootstrappers" };
      for (const index of [1, 2, 3]) await requesters.record(`record-${index}`, "machine");
      assert.equal((await requesters.requestUntilRefused(machine)).count, 3);
      await requesters.record("record-4", "machine");
      assert.match((await requesters.request(machine)).message, /requested: bytes=.* limited: bytes=262144/);
      assert.equal((await requesters.admin.send(`${records}/record-1`, { method: "DELETE" })).status, 200);
      assert.match((await requesters.request(machine)).message, /limited: certificatesigningrequests\.bytes=65536/);
    });
  });
}

describe("what one user may have", () => {
  it("is not more for a name that another user is about to take", async (context) => {
    const stored = new MemoryStore();
    const started = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const store: Store = {
      ...keptStore(stored),
      async write(written) {
        if (written.value?.includes('"username":"system:node:slow"') !== true) return stored.write(written);
        started.resolve();
        await ending.promise;
        throw new WriteAbandoned();
      },
    };
    const server = await startTestServer({ settings, store });
    context.after(async () => {
      await server.stop();
      await stored.close();
    });
    const requesters = new Requesters(server);
    const { count, refusal } = await requesters.requestUntilRefused(node("full"));
    assert.equal(count, 3);
    const ofSame = (name: string): SentRequest => ({
      body: {
        metadata: { name: refusal.details.name, annotations: { text: "x".repeat(20_000) } },
        spec: { request, signerName: "example.com/signer", usages: ["client auth"] },
      },
      headers: node(name),
    });
    const slow = requesters.request({}, ofSame("slow"));
    await started.promise;
    assert.equal((await requesters.request({}, ofSame("full"))).message, refusal.message);
    ending.resolve();
    assert.equal((await slow).kind, "Status");
  });

  it("is still counted beside a damaged request, also once that is removed", async (context) => {
    const store = new MemoryStore();
    const options = { settings: { ...settings, controllers: ["-*"] }, store: keptStore(store) };
    const first = await startTestServer(options);
    const previously = new Requesters(first);
    await previously.grant();
    const { metadata } = await previously.request(node("damaged"));
    const { count } = await previously.requestUntilRefused(node("one"));
    await first.stop();
    const { entries } = await store.range({ start: "/", end: "0" });
    const whole = entries.find(({ key }) => key.endsWith(`/${metadata.name}`));
    assert.ok(whole);
    const { key, value, modRevision } = whole;
    const damaged = await store.write({ key, value: value.subarray(0, 100), expectedRevision: modRevision });
    assert.ok(damaged.isWritten);
    const second = await startTestServer(options);
    context.after(async () => {
      await second.stop();
      await store.close();
    });
    const again = new Requesters(second, "again");
    assert.equal((await again.requestUntilRefused(node("one"))).count, 0);
    await store.write({ key, value: undefined, expectedRevision: damaged.revision });
    assert.equal((await again.requestUntilRefused(node("other"))).count, count);
    assert.equal((await again.requestUntilRefused(node("one"))).count, 0);
  });
});

describe("what a namespace may hold", () => {
  it("is counted once for all who race for a name: the losers learn that it is taken", async () => {
    const racers = 5;
    const haveAllBegun = Promise.withResolvers<void>();
    let begun = 0;
    const server = await startTestServer({
      storage: "lmdb",
      settings,
      admission: [
        {
          name: "StartTogether",
          async validate({ name }) {
            if (name !== "raced-for") return;
            if (++begun === racers) haveAllBegun.resolve();
            await haveAllBegun.promise;
          },
        },
      ],
    });
    const alice = new Alice(server);
    await alice.grant();
    for (const index of [1, 2, 3]) {
      await alice.status(configMapsIn("default"), { method: "POST", body: configMap(`fill-${index}`, 60_000) });
    }
    const body = configMap("raced-for", 60_000);
    const statuses = await Promise.all(
      Array.from({ length: racers }, () => alice.status(configMapsIn("default"), { method: "POST", body })),
    );
    assert.deepEqual(
      statuses.toSorted((one, other) => one - other),
      [201, 409, 409, 409, 409],
    );
  });

  it("is known right after a restart", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-quota-"));
    const dataDirectory = join(folder, "data");
    const options = { storage: "lmdb", settings: { ...settings, controllers: ["-*"] }, dataDirectory } as const;
    const first = await startTestServer(options);
    const alice = new Alice(first);
    await alice.grant();
    await alice.send("/api/v1/namespaces/default/secrets", { method: "POST", body: configMap("secret", 0) });
    await alice.send(configMapsIn("default"), { method: "POST", body: configMap("changed", 10) });
    await alice.send(`${configMapsIn("default")}/changed`, {
      method: "PATCH",
      headers: merge,
      body: { data: { text: "é".repeat(100) } },
    });
    // Its key is sorted in another form, so it is never evicted.
    const role = `${rbac}/namespaces/default/roles/${encodeURIComponent("\u{1f600}")}`;
    const body = { metadata: { name: "\u{1f600}", annotations: { text: "x".repeat(50_000) } }, rules: [] };
    assert.equal(await alice.status(role, { method: "PUT", body }), 201);
    const { refusal } = await alice.fill("default");
    const { count, refusal: refusedRequest } = await new Requesters(first).requestUntilRefused(node("one"));
    assert.equal(count, 3);
    await first.stop();
    const second = await startTestServer(options);
    context.after(async () => {
      await second.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const again = new Alice(second);
    assert.equal(
      await again.status(role, { method: "PATCH", headers: merge, body: { metadata: { labels: { a: "b" } } } }),
      200,
    );
    assert.equal(await again.status(role, { method: "DELETE" }), 200);
    assert.equal(await again.status(role, { method: "PUT", body }), 201);
    const { message } = await again.send(configMapsIn("default"), {
      method: "POST",
      body: configMap(refusal.details.name, 60_000),
    });
    assert.equal(message, refusal.message);
    assert.equal((await new Requesters(second).requestUntilRefused(node("one"))).count, 0);
    const usedBytes = (text: string): string | undefined => /used: ([^,]*)/.exec(text)?.[1];
    const refusedAgain = await new Requesters(second).request(node("one"));
    assert.equal(usedBytes(refusedAgain.message), usedBytes(refusedRequest.message));
    assert.equal((await again.admin.send(certificates, { method: "DELETE" })).status, 200);
    assert.equal((await new Requesters(second).requestUntilRefused(node("one"))).count, 3);
  });

  it("counts what other processes have written", async (context) => {
    const store = new MemoryStore();
    const servers = [
      await startTestServer({ settings, store: keptStore(store) }),
      await startTestServer({ settings: { ...settings, controllers: ["-*"] }, store: keptStore(store) }),
    ] as const;
    context.after(async () => {
      for (const server of servers) await server.stop();
      await store.close();
    });
    const [first, second] = [new Alice(servers[0]), new Alice(servers[1])];
    await first.grant();
    assert.equal((await first.fill("default")).count, 4);
    await second.admin.send(configMapsIn("default")); // its copy has every acknowledged write then
    assert.equal(
      await second.status(configMapsIn("default"), { method: "POST", body: configMap("more", 60_000) }),
      403,
    );
    assert.equal(await second.status(configMapsIn("default"), { method: "DELETE" }), 200);
    await first.admin.send(configMapsIn("default"));
    assert.equal((await first.fill("default")).count, 4);
  });

  it("is free again after the namespace was deleted and made anew", async () => {
    const server = await startTestServer({ settings });
    const alice = new Alice(server);
    await alice.grant();
    await alice.makeNamespace("ending");
    assert.equal((await alice.fill("ending")).count, 4);
    const namespace = "/api/v1/namespaces/ending";
    const gone = await alice.admin.watch("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dending");
    assert.equal(await alice.status(namespace, { method: "DELETE" }), 200);
    while (!gone.events.some(({ type }) => type === "DELETED")) await gone.until(gone.frames.length + 1);
    gone.stop();
    await alice.makeNamespace("ending");
    assert.equal((await alice.fill("ending")).count, 4);
  });

  it("has no limit with 0, and must fit an object of the maximum size otherwise", async () => {
    const config = (bytes: string) =>
      parseServerConfig({ commandLine: { "max-namespace-bytes": bytes }, file: {} }).limits.maximumNamespaceBytes;
    assert.equal(config("0"), Infinity);
    assert.equal(config("1572864"), 1_572_864);
    assert.throws(
      () => config("1572863"),
      (error) => error instanceof UsageError && /one object must fit/.test(error.message),
    );
    const server = await startTestServer({ settings: { ...settings, "max-namespace-bytes": 0 } });
    const alice = new Alice(server);
    await alice.grant();
    for (let index = 0; index < 6; index++) {
      const body = configMap(`fill-${index}`, 60_000);
      assert.equal(await alice.status(configMapsIn("default"), { method: "POST", body }), 201);
    }
    assert.doesNotMatch(String((await alice.admin.send("/metrics")).body), /^signet_namespace_largest/m);
  });
});
