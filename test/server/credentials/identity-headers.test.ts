import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { headerOctets } from "../../../src/machinery/api/header-text.ts";
import { inProcessTransport } from "../../../src/machinery/client/in-process-transport.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { sendRawHttp2 } from "./raw-http2.ts";
import type { Field } from "./raw-http2.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({ settings: { controllers: false } });
});

interface Answer {
  readonly code?: number;
  readonly message?: string;
  readonly details?: { readonly name?: string };
}

const secrets = "/api/v1/namespaces/default/secrets";
const asAdministrator = (): Field => ["authorization", `Bearer ${server.adminToken}`];

/** The status code of a list of Secrets, which only the administrator may read. 0 when there was no answer. */
async function overHttp2(...fields: readonly Field[]): Promise<number> {
  const body = await sendRawHttp2(server.port, { path: secrets, fields: [asAdministrator(), ...fields] });
  return body === "" ? 0 : ((JSON.parse(body) as Answer).code ?? 200);
}

/** The same over HTTP/1.1, with the given raw lines. */
const overHttp1 = (...lines: readonly string[]): Promise<number> => overHttp1To("localhost", ...lines);

async function overHttp1To(host: string, ...lines: readonly string[]): Promise<number> {
  const options = { host: "127.0.0.1", port: server.port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
  const socket = connect(options);
  await once(socket, "secureConnect");
  const head = [
    `GET ${secrets} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${server.adminToken}`,
    "Connection: close",
  ];
  // The server may take the end of the connection for a client that has gone, so the connection stays open.
  socket.write(Buffer.from(`${[...head, ...lines].join("\r\n")}\r\n\r\n`, "latin1"));
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}

/** The same without a connection. */
async function inProcess(headers: Readonly<Record<string, string>>): Promise<number> {
  const transport = inProcessTransport(server.handler, { bearerToken: server.adminToken });
  return (await transport.send({ method: "GET", path: secrets, headers })).status;
}

describe("a request that names another user", () => {
  it("is authorized as that user, over HTTP/2, over HTTP/1.1 and in process", async () => {
    assert.equal(await overHttp2(), 200);
    assert.equal(await overHttp2(["impersonate-user", "victim"]), 403);
    assert.equal(await overHttp1("Impersonate-User: victim"), 403);
    assert.equal(await overHttp1("Impersonate-User:\t victim \t"), 403);
    assert.equal(await inProcess({ "Impersonate-User": "victim" }), 403);
  });

  for (const value of ["victim ", " victim", "victim\t", "\tvictim", " ", "\t", "", "\xff", "j\xfcrgen", "v\xc3"]) {
    it(`is refused for the value ${JSON.stringify(value)}, and never treated as the caller's own`, async () => {
      assert.equal(await overHttp2(["impersonate-user", value]), 400);
      if (value.trim() === value) assert.equal(await overHttp1(`Impersonate-User: ${value}`), 400);
      if (headerOctets(value) === value) assert.equal(await inProcess({ "impersonate-user": value }), 400);
    });
  }

  it("is refused for blanks in any other field too, as RFC 9113 requires", async () => {
    assert.equal(await overHttp2(["x-whatever", "value "]), 400);
    assert.equal(await overHttp2(["accept", " application/json"]), 400);
    assert.equal(await overHttp2(["Impersonate-User", "victim"]), 0);
  });

  it("is refused in a request with two hosts", async () => assert.equal(await overHttp1("Host: another"), 400));

  it("is refused with a host that is none", async () => {
    for (const host of ["a/b", "a?b", "a#b", "a@b", "a b", "a\\b", "<a>", "\xe4"])
      assert.equal(await overHttp1To(host), 400);
    for (const host of ["", "a_b.c:1", "[::1]:6443", "%41"]) assert.equal(await overHttp1To(host), 200);
  });

  for (const line of [
    "Impersonate-User: vic\0tim",
    "Impersonate-User: vic\x01tim",
    "Impersonate-User: vic\x7ftim",
    "Impersonate-User: vic\rtim",
    "Impersonate-User: vic\ntim",
    "Impersonate-User : victim",
    "Impersonate User: victim",
    "Impersonate-Üser: victim",
    ": victim",
    "X-Before: a\r\n Impersonate-User: victim",
    "Impersonate-User:\r\n victim",
    "Impersonate-User: vic\r\n tim",
  ]) {
    it(`is refused by HTTP/1.1 for ${JSON.stringify(line)}`, async () => {
      assert.equal(await overHttp1(line), 400);
    });
  }

  it("is refused over HTTP/2 with characters that HTTP does not allow, and no header is left out", async () => {
    for (const field of [
      ["impersonate-user", "vic\0tim"],
      ["impersonate-user", "vic\x01tim"],
      ["impersonate-user", "vic\x7ftim"],
      ["impersonate-user", "victim\r"],
      ["impersonate-user", "vic\ntim"],
      ["impersonate user", "victim"],
      ["impersonate-user:", "victim"],
      ["impersonate-\xfcser", "victim"],
      ["Impersonate-User", "victim"],
      ["", "victim"],
      [":impersonate-user", "victim"],
    ] satisfies Field[])
      assert.equal(await overHttp2(field), 0, JSON.stringify(field));
  });
});

describe("text in identity headers", () => {
  const nameSeen = async (...fields: readonly Field[]): Promise<string | undefined> => {
    const body = await sendRawHttp2(server.port, { path: secrets, fields: [asAdministrator(), ...fields] });
    return /User "(.*?)" cannot/.exec((JSON.parse(body) as Answer).message?.replaceAll("\\", "") ?? "")?.[1];
  };

  it("is read as UTF-8", async () => {
    assert.equal(await nameSeen(["impersonate-user", headerOctets("jürgen")]), "jürgen");
    assert.equal(await nameSeen(["impersonate-user", headerOctets("名前 😀")]), "名前 😀");
  });

  const review = async (headers: Readonly<Record<string, string>>): Promise<string> => {
    const path = "/apis/authentication.platform.io/v1/selfsubjectreviews";
    const transport = inProcessTransport(server.handler, { bearerToken: server.adminToken });
    const sent = { "content-type": "application/json", "impersonate-user": "alice", ...headers };
    const { body } = await transport.send({ method: "POST", path, headers: sent, body: "{}" });
    let answer = "";
    for await (const chunk of body) answer += Buffer.from(chunk).toString();
    return answer;
  };

  it("is read as UTF-8 in groups, uid and extra, and in escaped keys of extra", async () => {
    const answer = await review({
      "impersonate-group": "gruppe-ü",
      "impersonate-uid": "ü-1",
      "Impersonate-Extra-Sch%C3%BCssel%2Fx": "wert-ü",
    });
    const { userInfo } = (JSON.parse(answer) as { readonly status: { readonly userInfo: Record<string, unknown> } })
      .status;
    assert.deepEqual(userInfo, {
      username: "alice",
      uid: "ü-1",
      groups: ["gruppe-ü", "system:authenticated"],
      extra: { "schüssel/x": ["wert-ü"] },
    });
  });

  it("is read as UTF-8 in the User-Agent, which managedFields keeps", async () => {
    const transport = inProcessTransport(server.handler, { bearerToken: server.adminToken });
    const path = "/api/v1/namespaces/default/configmaps";
    const headers = { "content-type": "application/json", "user-agent": "größe/1.0" };
    const body = JSON.stringify({ metadata: { name: "sent" }, data: { a: "b" } });
    const answer = await transport.send({ method: "POST", path, query: "dryRun=All", headers, body });
    let text = "";
    for await (const chunk of answer.body) text += Buffer.from(chunk).toString();
    assert.match(text, /"manager":"größe"/);
  });

  it("that is not UTF-8 is refused in every header", async () => {
    for (const name of ["impersonate-group", "impersonate-uid", "impersonate-extra-x"]) {
      assert.equal(await overHttp2(["impersonate-user", "alice"], [name, "\xff"]), 400, name);
    }
    assert.equal(await overHttp2(["impersonate-user", "alice"], ["impersonate-extra-%ff", "x"]), 400);
    assert.equal((JSON.parse(await review({ "impersonate-extra-50%": "kept" })) as Answer).code, undefined);
  });

  it("that holds control characters in UTF-8 is refused, but for tabs", async () => {
    for (const name of ["impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-x"]) {
      const fields: Field[] = [
        ["impersonate-user", "alice"],
        [name, headerOctets("a\u{85}b")],
      ];
      assert.equal(await overHttp2(...fields), 400, name);
    }
    assert.equal((JSON.parse(await review({ "impersonate-extra-x": "a\tb" })) as Answer).code, undefined);
  });
});

describe("a caller who may act only for others", () => {
  let guarded: TestServer;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "signet-identity-"));
    const tokens = join(folder, "tokens.csv");
    writeFileSync(
      tokens,
      'proxy-token,proxy,1,"system:masters"\nmember-token,member,2,"proxies,system:masters"\nfree-token,free,3,"system:masters"\n',
    );
    guarded = await startTestServer({
      settings: { "impersonation-only-users": ["proxy"], "impersonation-only-groups": ["proxies"] },
      tokenFile: tokens,
    });
  });
  after(async () => {
    await guarded.stop();
    rmSync(folder, { recursive: true });
  });

  const send = async (token: string, path: string, ...fields: readonly Field[]): Promise<Answer> =>
    JSON.parse(
      await sendRawHttp2(guarded.port, { path, fields: [["authorization", `Bearer ${token}`], ...fields] }),
    ) as Answer;

  it("is refused when it names no user", async () => {
    for (const token of ["proxy-token", "member-token"]) {
      for (const path of [secrets, "/api", "/version", "/metrics"]) {
        const { code, message } = await send(token, path);
        assert.equal(code, 403);
        assert.match(message ?? "", /may only impersonate other users: send the header Impersonate-User/);
      }
    }
  });

  it("acts for other users, who can still act for themselves", async () => {
    assert.match((await send("proxy-token", secrets, ["impersonate-user", "alice"])).message ?? "", /User \\?"alice/);
    assert.equal((await send("free-token", secrets)).code, undefined);
  });

  it("cannot be the server itself", async () => {
    for (const settings of [
      { "impersonation-only-groups": ["system:masters"] },
      { "impersonation-only-groups": ["system:authenticated"] },
      { "impersonation-only-users": ["system:apiserver"] },
    ]) {
      await assert.rejects(startTestServer({ settings }), /the server itself runs as .* and would be refused/);
    }
  });
});
