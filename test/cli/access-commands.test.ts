import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPrivateKey } from "node:crypto";
import { parse } from "yaml";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { HostedSignet } from "./hosted-signet.ts";
import { wordsOf } from "./words-of.ts";

describe("the commands for permissions, and waiting", { concurrency: 1 }, () => {
  let server: TestServer;
  let host: HostedSignet;
  /** For a command that waits while the other runs some. */
  let waiting: HostedSignet;
  const folder = mkdtempSync(join(tmpdir(), "signet-access-"));
  before(async () => {
    server = await startTestServer();
    host = new HostedSignet();
    waiting = new HostedSignet();
  });
  after(async () => {
    host.stop();
    waiting.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const here = (line: string): string[] => [...wordsOf(line), "--kubeconfig", server.kubeconfigFile];
  const signet = (line: string) => host.run(here(line));
  const succeed = (line: string): Promise<string> => host.succeed(here(line));

  it("grant permissions that take effect, show them, and revoke them", async () => {
    const before = await signet("auth can-i list csr --as anna --as-group dev");
    assert.deepEqual([before.code, before.stdout], [1, "no\n"]);
    await succeed("clusterrole create readers --verb get,list --resource csr,pods --non-resource-url /metrics");
    const role = parse(await succeed("clusterrole describe readers -o yaml")) as { rules: unknown };
    assert.deepEqual(role.rules, [
      { verbs: ["get", "list"], apiGroups: ["certificates.platform.io"], resources: ["certificatesigningrequests"] },
      { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] },
      { verbs: ["get", "list"], nonResourceURLs: ["/metrics"] },
    ]);
    await succeed("clusterrolebinding create dev --clusterrole readers --group dev --serviceaccount team:robot");
    assert.equal(await succeed("auth can-i list csr --as anna --as-group dev"), "yes\n");
    assert.equal(await succeed("auth can-i get /metrics --as system:serviceaccount:team:robot"), "yes\n");
    assert.equal((await signet("auth can-i delete csr/x --as anna --as-group dev -q")).stdout, "");
    assert.match(
      await succeed("auth can-i --list --as anna --as-group dev"),
      /^certificatesigningrequests\.certificates\.platform\.io .*get,list$/m,
    );
    for (const subject of ["dev", "Group:dev", "ServiceAccount:team:robot", "system:serviceaccount:team:robot"]) {
      const names = await succeed(`clusterrolebinding list --subject ${subject} -o name`);
      assert.equal(names, "clusterrolebinding.rbac.authorization.platform.io/dev\n", subject);
    }
    assert.match(await succeed("clusterrolebinding describe dev"), /^Role: +ClusterRole\/readers$/m);
    assert.equal(await succeed("clusterrolebinding list --subject User:dev -o name"), "");
    await succeed("clusterrolebinding delete dev");
    assert.equal((await signet("auth can-i list csr --as anna --as-group dev")).code, 1);
  });

  it("find a role binding by an account, however it names the account", async () => {
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "view" };
    const subjects = [
      { kind: "ServiceAccount", name: "robot" }, // one of the binding's namespace
      { kind: "User", apiGroup: roleRef.apiGroup, name: "system:serviceaccount:default:robot" },
      { kind: "ServiceAccount", name: "robot", namespace: "default" },
    ];
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    for (const [index, subject] of subjects.entries()) {
      const body = { metadata: { name: `robots-${index}` }, roleRef, subjects: [subject] };
      await server.client.request(bindings, { method: "POST", body });
    }
    for (const subject of ["ServiceAccount:default:robot", "User:system:serviceaccount:default:robot"]) {
      const names = await succeed(`rolebinding list --subject ${subject} -o name`);
      assert.equal(names.split("\n").length, 1 + subjects.length, subject);
    }
    assert.equal(await succeed("rolebinding list --subject ServiceAccount:other:robot -o name"), "");
    assert.match(await succeed("rolebinding describe robots-0"), /^ServiceAccount +robot +default$/m);
  });

  it("delete and lock what they can of several names, and report each that is refused", async () => {
    await succeed("role create there --verb get --resource pods");
    const deleted = await signet("role delete gone there lost");
    assert.deepEqual([deleted.code, deleted.stdout], [1, "role there deleted\n"]);
    assert.match(deleted.stderr, /^signet: [^\n]+"gone" not found[^\n]+\nsignet: [^\n]+"lost" not found[^\n]+\n$/);
    const locked = await signet("node lock edge-1 Edge_2 edge-3");
    assert.deepEqual([locked.code, locked.stdout], [1, "node edge-1 locked\nnode edge-3 locked\n"]);
    const unknown = (name: string): string => `warning: there is no Node ${name}; is this the right name?\n`;
    const warnings = unknown("edge-1") + unknown("edge-3");
    assert.ok(locked.stderr.startsWith(warnings));
    assert.match(locked.stderr.slice(warnings.length), /^signet: [^\n]+"Edge_2" is invalid[^\n]+\n$/);
    const unlocked = await signet("node unlock edge-1 a/b edge-3");
    assert.deepEqual([unlocked.code, unlocked.stdout], [1, "node edge-1 unlocked\nnode edge-3 unlocked\n"]);
    const tokens = await signet("bootstrap-token delete abcdef abcdeg");
    assert.deepEqual([tokens.code, tokens.stderr.split("\n").length], [1, 3]);
  });

  it("take the names that -o name prints", async () => {
    const named = async (line: string): Promise<string> => (await succeed(`${line} -o name`)).trim();
    const request = `x --key-file "${join(folder, "x.key")}"`;
    assert.equal(await named(`csr describe ${await named(`csr create ${request}`)}`), await named("csr list"));
    await succeed(`csr approve --yes ${await named("csr list")} --wait`);
    assert.match(await succeed(`csr get ${await named("csr list")}`), /^-----BEGIN CERTIFICATE-----$/m);
    const record = (await named("certificates list")).split("\n").at(-1);
    assert.equal(await named(`certificates describe ${record}`), record);
    await succeed(`role delete ${await named("role create r --verb get --resource pods")}`);
    await succeed("node lock node/edge-4");
    assert.equal(await succeed(`node unlock ${await named("node locks")}`), "node edge-4 unlocked\n");
    await succeed("bootstrap-token create");
    await succeed(`bootstrap-token delete ${await named("bootstrap-token list")}`);
    await succeed("token create serviceaccount/default");
    const [bundle = ""] = (await named("trust list")).split("\n");
    await succeed(`trust describe ${bundle}`);
  });

  it("give a bootstrap token each of several groups, between commas or with a flag each", async () => {
    const groups = ["system:bootstrappers:east", "system:bootstrappers:west"];
    for (const flags of [`--group ${groups.join(",")}`, groups.map((group) => `--group ${group}`).join(" ")]) {
      const made: { groups?: unknown } = JSON.parse(await succeed(`bootstrap-token create ${flags} -o json`));
      assert.deepEqual(made.groups, groups);
    }
  });

  it("list a bootstrap token that no machine can use as unusable", async () => {
    const stringData = { "token-id": "abcdef", "usage-bootstrap-authentication": "true", "auth-extra-groups": "edge" };
    await server.client.request("/api/v1/namespaces/platform-system/secrets", {
      method: "POST",
      body: { metadata: { name: "bootstrap-token-abcdef" }, type: "bootstrap.platform.io/token", stringData },
    });
    assert.match(await succeed("bootstrap-token list"), /^abcdef +<never> +unusable +<any> +edge /m);
  });

  it("warn of a verb that no request has, and do what was asked", async () => {
    const { code, stderr } = await signet("role create slip --verb gett,list --resource secrets");
    assert.deepEqual([code, stderr], [0, "warning: no request to the server has the verb gett (did you mean get?)\n"]);
    const paths = await signet("clusterrole create paths --verb post,approve --non-resource-url /hook,/hooks/*,*");
    assert.deepEqual([paths.code, paths.stderr], [0, "warning: no request to the server has the verb approve\n"]);
    const asked = await signet("auth can-i delet secrets");
    assert.match(asked.stderr, /^warning: no request to the server has the verb delet \(did you mean delete\?\)$/m);
    assert.equal((await signet("auth can-i post /hook")).stderr, "");
    const acting = "--verb impersonate:serviceaccount,impersonate-on:serviceaccount:list --resource pods";
    assert.equal((await signet(`clusterrole create acting ${acting}`)).stderr, "");
  });

  it("let people approve for a signer, and act as others, though no path has these resources", async () => {
    await succeed("clusterrole create approve-web --verb approve --resource signers --resource-name example.com/web");
    await succeed("clusterrole create decide --verb get,update --resource csr,csr/approval");
    await succeed("clusterrole create act --verb impersonate --resource users,userextras.authentication.k8s.io/scopes");
    for (const one of ["approve-web", "decide"]) {
      await succeed(`clusterrolebinding create ${one} --clusterrole ${one} --user cleo`);
    }
    for (const signer of ["example.com/web", "example.com/mail"]) {
      const name = signer.slice(signer.indexOf("/") + 1);
      await succeed(`csr create ${name} --signer ${signer} --key-file "${join(folder, name)}"`);
    }
    assert.equal(await succeed("csr approve web --yes --as cleo"), "certificate request web approved\n");
    assert.match((await signet("csr approve mail --yes --as cleo")).stderr, /not permitted to approve/);
    const asked = await signet("auth can-i approve signers example.com/web --as cleo");
    assert.deepEqual([asked.stdout, asked.stderr], ["yes\n", ""]);
  });

  it("warn of a role that allows nothing, because what it names is in no namespace", async () => {
    const { code, stderr } = await signet("role create idle --verb get --resource csr,namespaces,pods");
    const warning =
      "warning: a role allows nothing with certificatesigningrequests, which are in no namespace; use a cluster role\n";
    assert.deepEqual([code, stderr], [0, warning]);
  });

  it("give with * what the core group has, with *.GROUP what that has, and with *.* everything, as kubectl does", async () => {
    for (const [resource, group] of [
      ["*", ""],
      ["*.certificates.k8s.io", "certificates.k8s.io"],
      ["*.*", "*"],
    ]) {
      const line = `clusterrole create every-${group?.length} --verb get --resource ${resource} -o json`;
      const { rules } = JSON.parse(await succeed(line)) as { rules: unknown };
      assert.deepEqual(rules, [{ verbs: ["get"], apiGroups: [group], resources: ["*"] }]);
    }
  });

  it("take a resource with a slash behind it for the resource, as kubectl does", async () => {
    await succeed("role create slash --verb get --resource pods/,pods/status/");
    assert.match(await succeed("role describe slash"), /^pods,pods\/status +get$/m);
  });

  it("work in a namespace, and across all", async () => {
    await succeed("role create tokens --verb create --resource serviceaccounts/token --resource-name robot");
    await succeed("rolebinding create tokens --role tokens --user anna");
    assert.match(await succeed("role describe tokens"), /^serviceaccounts\/token +robot +create$/m);
    const question = "auth can-i create serviceaccounts/robot --subresource token --as anna";
    assert.equal(await succeed(question), "yes\n");
    assert.equal((await signet(`${question} -A`)).code, 1);
    assert.match(
      await succeed("rolebinding list -A --subject anna"),
      /^NAMESPACE +NAME +ROLE +SUBJECTS\ndefault +tokens +Role\/tokens +User:anna$/m,
    );
  });

  it("show who the caller is, and as which user it acts", async () => {
    const review = JSON.parse(await succeed("auth whoami --as anna --as-group a --as-group b -o json")) as {
      status: { userInfo: { username: string; groups: string[] } };
    };
    const { username, groups } = review.status.userInfo;
    assert.deepEqual([username, groups], ["anna", ["a", "b", "system:authenticated"]]);
  });

  it("may wait for an answer longer than a timer of Node.js", async () => {
    for (const time of ["30d", "60d"]) await succeed(`auth whoami --timeout ${time}`);
  });

  it("act as the user that the kubeconfig says, unless a flag says another", async () => {
    const acting = join(folder, "acting");
    const text = readFileSync(server.kubeconfigFile, "utf8");
    writeFileSync(acting, text.replace(/^( +)user:\n/m, "$&$1  as: anna\n$1  as-groups: [a]\n"));
    const whoami = async (...flags: string[]) =>
      (await host.run(["auth", "whoami", "--kubeconfig", acting, ...flags])).stdout.replaceAll(/ +/g, " ");
    assert.match(await whoami(), /Username anna\nGroups a, system:authenticated\n/);
    assert.match(await whoami("--as", "bob"), /Username bob\nGroups system:authenticated\n/);
  });

  it("wait until somebody else approves a certificate, and report a denial", async () => {
    const key = join(folder, "key");
    const wait = (name: string) =>
      waiting.run(["csr", "create", name, "--wait", "--key-file", key, "--kubeconfig", server.kubeconfigFile]);
    const approved = wait("approved");
    while ((await signet("csr describe approved")).code !== 0);
    await succeed("csr approve approved --yes");
    assert.equal((await approved).stdout, "certificate request approved created, and its certificate is issued\n");
    assert.match(await succeed("csr get approved --wait"), /^-----BEGIN CERTIFICATE-----/);
    const denied = wait("denied");
    while ((await signet("csr describe denied")).code !== 0);
    await succeed("csr deny denied --message no");
    const { code, stderr } = await denied;
    assert.deepEqual([code, stderr], [1, "signet: certificate request denied was denied: no\n"]);
    assert.match(
      await succeed("csr list --subject cn=APPROVED -o name"),
      /^certificatesigningrequest\.\S+\/approved\n$/,
    );
    assert.match(
      await succeed("certificates list --subject approved -o wide"),
      /^\S+ .* CN=approved +admin .* approved +[0-9a-f]+$/m,
    );
  });

  it("wait for a certificate without the permission to watch it", async () => {
    await succeed("clusterrole create requesters --verb create,get --resource csr");
    await succeed("clusterrolebinding create requesters --clusterrole requesters --user ben");
    const create = `csr create unwatched --wait --key-file "${join(folder, "unwatched.key")}" --as ben`;
    const created = waiting.run(here(create));
    while ((await signet("csr describe unwatched")).code !== 0);
    await succeed("csr approve unwatched --yes");
    const { code, stderr } = await created;
    assert.deepEqual([code, stderr], [0, ""]);
  });

  it("write private keys in kubeconfigs as SEC 1", async () => {
    const config = parse(await succeed("kubeconfig --user anna --duration 1d")) as {
      users: { user: Record<string, string> }[];
    };
    const pem = Buffer.from(config.users[0]?.user["client-key-data"] ?? "", "base64").toString();
    assert.match(pem, /^-----BEGIN EC PRIVATE KEY-----/);
    assert.equal(createPrivateKey(pem).asymmetricKeyType, "ec");
  });

  it("make a kubeconfig of a service account for longer than a certificate can be asked for", async () => {
    const config = parse(await succeed("kubeconfig --service-account default --duration 30000d")) as {
      users: { user: { token?: string } }[];
    };
    const claims = Buffer.from(config.users[0]?.user.token?.split(".")[1] ?? "", "base64url").toString();
    const { exp, iat } = JSON.parse(claims) as { exp: number; iat: number };
    assert.equal(exp - iat, 30_000 * 86_400);
  });
});
