import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import type { HostedOutcome } from "../../cli/command-host.ts";
import { HostedSignet } from "../../cli/hosted-signet.ts";

describe("the commands for revocations", () => {
  let server: TestServer;
  const hosted = new HostedSignet();
  before(async () => {
    server = await startTestServer({ settings: { controllers: "false" } });
    for (const name of ["robot", "other"]) {
      await server.client.request("/api/v1/namespaces/default/serviceaccounts", {
        method: "POST",
        body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
      });
    }
  });
  after(async () => {
    hosted.stop();
    await server.stop();
  });
  const here = (args: readonly string[]): string[] => [
    ...args,
    ...["--kubeconfig", server.kubeconfigFile, "--token", server.adminToken],
  ];
  const signet = (...args: string[]): Promise<HostedOutcome> => hosted.run(here(args));
  const succeed = (...args: string[]): Promise<string> => hosted.succeed(here(args));
  const reviewed = async (token: string): Promise<number | null> => (await signet("token", "review", token)).code;

  it("revoke a token, and all tokens that were issued to an account so far", async () => {
    const [one, two] = [await succeed("token", "create", "robot"), await succeed("token", "create", "robot")];
    assert.match(await succeed("token", "revoke", one.trim()), /^token \S+ revoked\n$/);
    assert.match(await succeed("token", "revoke", one.trim()), /^token \S+ was revoked already\n$/);
    assert.deepEqual([await reviewed(one.trim()), await reviewed(two.trim())], [1, 0]);
    const account = await succeed("token", "revoke", "--account", "robot", "--reason", "superseded");
    assert.match(account, /^tokens of default\/robot issued before \S+Z revoked\n$/);
    assert.equal(await reviewed(two.trim()), 1);
    assert.match(await succeed("token", "revocations"), /default\/robot issued before \S+ +superseded/);
  });

  it("revoke the tokens of an account for a user who may not read accounts", async () => {
    const rules = [{ apiGroups: ["signet.platform.io"], resources: ["revocations"], verbs: ["create", "get"] }];
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "revokers" };
    const rbac = "/apis/rbac.authorization.platform.io/v1";
    await server.client.request(`${rbac}/clusterroles`, {
      method: "POST",
      body: {
        apiVersion: "rbac.authorization.platform.io/v1",
        kind: "ClusterRole",
        metadata: { name: "revokers" },
        rules,
      },
    });
    await server.client.request(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: {
        apiVersion: "rbac.authorization.platform.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "revokers" },
        roleRef,
        subjects: [{ apiGroup: roleRef.apiGroup, kind: "User", name: "ann" }],
      },
    });
    const revoked = await succeed("token", "revoke", "--account", "other", "--as", "ann");
    assert.match(revoked, /^tokens of default\/other issued before \S+Z revoked\n$/);
  });

  it("revoke the administrator's certificate, which is in the inventory", async () => {
    const revoked = await succeed("certificates", "revoke", "--subject", "CN=admin,O=system:masters");
    assert.match(revoked, /^certificates of CN=admin,O=system:masters issued before \S+ revoked\n$/);
    const { code, stderr } = await hosted.run(["auth", "whoami", "--kubeconfig", server.kubeconfigFile]);
    assert.equal(code, 4, stderr);
    assert.match(
      await succeed("certificates", "revocations", "-o", "name"),
      /^revocation\.signet\.platform\.io\/\S+\n$/,
    );
    const inventory = JSON.parse(await succeed("certificates", "list", "-o", "json")) as {
      items: { spec: { serialNumber: string; subject: string } }[];
    };
    const [record] = inventory.items;
    assert.equal(record?.spec.subject, "CN=admin,O=system:masters");
    const serial = await succeed("certificates", "revoke", record.spec.serialNumber.toUpperCase());
    assert.match(serial, /^certificate [0-9a-f]+ of CN=\S+ revoked\n$/);
  });

  it("revoke the certificate in a file or a pipe", async () => {
    const [file, pipe] = [join(server.dataDirectory, "ca.crt"), join(server.dataDirectory, "pipe")];
    execFileSync("mkfifo", [pipe]);
    const [revoked] = await Promise.all([
      succeed("certificates", "revoke", "--file", pipe),
      writeFile(pipe, readFileSync(file)),
    ]);
    assert.match(revoked, /^certificate [0-9a-f]+ of CN=\S+ revoked\n$/);
    assert.match(await succeed("certificates", "revoke", "--file", file), / was revoked already\n$/);
  });

  it("report invalid arguments", async () => {
    const of = async (...args: string[]): Promise<readonly [number | null, string]> => {
      const { code, stderr } = await signet(...args);
      return [code, stderr];
    };
    const wrong: readonly (readonly [readonly string[], number, RegExp])[] = [
      [["token", "revoke", "a.b.c"], 2, /not a token with an id.*line is removed from the file/],
      [["token", "revoke", "abcdef.0123456789abcdef"], 2, /bootstrap token.*signet bootstrap-token delete abcdef$/m],
      [["token", "revoke", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.AA"], 2, /no id \(jti\).*delete the Secret.*--account/],
      [["token", "revoke", "--jti", "a", "--account", "robot"], 2, /give one of/],
      [["token", "revoke", "--issued-before", "yesterday"], 2, /is not a time such as/],
      [["token", "revoke", "--issued-before", "2026-11-22T10:00:00"], 2, /is not a time such as .*\+02:00/],
      [["token", "revoke", "--issued-before", "2999-01-01T00:00:00Z"], 1, /more than five minutes in the future/],
      [["certificates", "revoke"], 2, /give one of/],
      [["certificates", "revoke", "ff", "--issued-before", "2026-01-01T00:00:00Z"], 2, /give --subject too/],
      [
        ["certificates", "revoke", "--subject", "foo"],
        1,
        /^signet: .*spec\.certificate\.subject: Invalid value: "foo": must be a distinguished name/,
      ],
      [
        ["certificates", "revoke", "--file", "package.json"],
        2,
        /--file: package\.json: it has no certificate in PEM; name a file with one$/m,
      ],
      [["certificates", "revoke", "0f"], 1, /no record of a certificate "0f"/],
    ];
    for (const [args, code, message] of wrong) {
      const [ended, text] = await of(...args);
      assert.equal(ended, code, `${args.join(" ")}: ${text}`);
      assert.match(text, message);
    }
    assert.match((await of("certificates", "revoke", "--subject", "CN=*"))[1], /no recorded certificate has exactly/);
  });
});
