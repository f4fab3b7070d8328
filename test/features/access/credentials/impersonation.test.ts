import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tooManyRequests } from "../../../../src/machinery/api/api-error.ts";
import type { AuthorizationAttributes, ResourceAttributes } from "../../../../src/machinery/api/attributes.ts";
import type { Headers } from "../../../../src/machinery/api/http-message.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { createImpersonation } from "../../../../src/features/access/credentials/impersonation.ts";

const sender: UserInfo = { username: "admin", groups: ["system:masters"], extra: {} };

const listing: AuthorizationAttributes = {
  kind: "resource",
  user: sender,
  ...{ verb: "list", group: "", version: "v1", resource: "pods", subresource: "", namespace: "ns", name: "" },
};

/** Senders with the verb `impersonate` alone. Allows what `isAllowed` says, and keeps what was asked: `group/resource/subresource namespace name`. */
function impersonation(isAllowed: (asked: string) => boolean = () => true) {
  const asked: string[] = [];
  const impersonate = createImpersonation({
    names: platformNames,
    impersonationOnly: { users: [], groups: [] },
    authorize: (attributes) => {
      const { group, resource, subresource, namespace, name, verb, user } = attributes as ResourceAttributes;
      assert.equal(user, sender);
      if (verb !== "impersonate") return { decision: "noOpinion", reason: "" };
      const text = [group, resource, subresource, namespace, name].join(" ");
      asked.push(text);
      return { decision: isAllowed(text) ? "allow" : "noOpinion", reason: "" };
    },
  });
  const as = async (headers: Headers) => (await impersonate(headers, { user: sender, attributes: () => listing })).user;
  return { asked, as };
}

interface Constrained {
  readonly by?: UserInfo;
  /** `verb group/resource name`, with the empty name as `-`. */
  readonly rules: readonly string[];
}

/** Senders who have these rules alone. */
function constrainedImpersonation({ by = sender, rules }: Constrained) {
  const askers = new Set<UserInfo>();
  const impersonate = createImpersonation({
    names: platformNames,
    impersonationOnly: { users: [], groups: [] },
    authorize: (attributes) => {
      askers.add(attributes.user);
      const what =
        attributes.kind === "path"
          ? `${attributes.verb} ${attributes.path}`
          : `${attributes.verb} ${attributes.group}/${attributes.resource} ${attributes.name || "-"}`;
      return { decision: rules.includes(what) ? "allow" : "noOpinion", reason: "" };
    },
  });
  const as = async (headers: Headers, attributes = listing) =>
    impersonate(headers, { user: by, attributes: () => ({ ...attributes, user: by }) });
  return { askers, as };
}

const groupsOf = async (headers: Headers): Promise<readonly string[]> => (await impersonation().as(headers)).groups;

describe("impersonation", () => {
  it("does nothing for a request without its headers", async () => {
    const test = impersonation();
    assert.equal(await test.as({ accept: "x" }), sender);
    assert.deepEqual(test.asked, []);
  });

  it("authorizes each part separately", async () => {
    const test = impersonation();
    const user = await test.as({
      "impersonate-user": "alice",
      "impersonate-group": ["dev", "system:masters", ""],
      "impersonate-uid": "u-1",
      "impersonate-extra-scopes": ["view", "edit"],
    });
    assert.deepEqual(user, {
      username: "alice",
      uid: "u-1",
      groups: ["dev", "system:masters", "", "system:authenticated"],
      extra: { scopes: ["view", "edit"] },
    });
    assert.deepEqual(test.asked, [
      " users   alice",
      "authentication.platform.io uids   u-1",
      " groups   dev",
      " groups   system:masters",
      " groups   ",
      "authentication.platform.io userextras scopes  view",
      "authentication.platform.io userextras scopes  edit",
    ]);
  });

  it("names the missing permission in the error", async () => {
    const headers = { "impersonate-user": "alice", "impersonate-group": "dev", "impersonate-extra-k": "v" };
    let lacking = "nothing";
    const test = impersonation((asked) => !asked.includes(lacking));
    await test.as(headers);
    const refusal = async (permission: string) => {
      lacking = permission;
      return test.as(headers);
    };
    await assert.rejects(refusal("alice"), {
      code: 403,
      message:
        'users "alice" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
      details: { name: "alice", kind: "users" },
    });
    await assert.rejects(refusal("dev"), { details: { name: "dev", kind: "groups" } });
    await assert.rejects(refusal("userextras"), {
      details: { name: "v", group: "authentication.platform.io", kind: "userextras" },
    });
  });

  it("requires a user name", async () => {
    for (const headers of [
      { "impersonate-group": "g" },
      { "impersonate-uid": "u" },
      { "impersonate-extra-k": "v" },
      { "impersonate-user": "" },
      { "impersonate-user": "", "impersonate-group": "g" },
    ]) {
      await assert.rejects(impersonation().as(headers), { code: 400 });
    }
  });

  it("of a service account requires a permission on the account, and adds its groups unless some are given", async () => {
    const test = impersonation();
    const username = "system:serviceaccount:ns:bob";
    assert.deepEqual((await test.as({ "impersonate-user": username })).groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:ns",
      "system:authenticated",
    ]);
    assert.deepEqual(test.asked, [" serviceaccounts  ns bob"]);
    assert.deepEqual(await groupsOf({ "impersonate-user": username, "impersonate-group": "g" }), [
      "g",
      "system:authenticated",
    ]);
  });

  it("of an impossible account name is that of a plain user", async () => {
    for (const name of ["only", "a:b:c", "UPPER:x", ":x", "ns:", ""]) {
      const test = impersonation();
      const user = await test.as({ "impersonate-user": `system:serviceaccount:${name}` });
      assert.deepEqual(user.groups, ["system:authenticated"]);
      assert.match(test.asked[0] ?? "", /^ users/);
    }
  });

  it("adds the matching standard group once", async () => {
    const as = (user: string, ...groups: string[]) =>
      groupsOf({ "impersonate-user": user, "impersonate-group": groups });
    assert.deepEqual(await as("alice", "system:authenticated", "g"), ["system:authenticated", "g"]);
    assert.deepEqual(await as("alice", "system:unauthenticated"), ["system:unauthenticated"]);
    assert.deepEqual(await as("system:anonymous"), ["system:unauthenticated"]);
    assert.deepEqual(await as("system:anonymous", "system:unauthenticated"), ["system:unauthenticated"]);
    assert.deepEqual(await as("system:anonymous", "system:authenticated"), [
      "system:authenticated",
      "system:unauthenticated",
    ]);
  });

  it("uses the first of repeated users and uids, and every value of extra in order", async () => {
    const user = await impersonation().as({
      "impersonate-user": ["alice", "bob"],
      "impersonate-uid": ["u1", "u2"],
      "impersonate-extra-dup": ["a", "b,c", "a", ""],
    });
    assert.equal(user.username, "alice");
    assert.equal(user.uid, "u1");
    assert.deepEqual(user.extra, { dup: ["a", "b,c", "a", ""] });
  });

  it("lower-cases extra keys before it decodes them, and keeps invalid escapes", async () => {
    const { extra } = await impersonation().as({
      "impersonate-user": "alice",
      "impersonate-extra-Example.Org%2FTeam": "x",
      "impersonate-extra-%41": "decoded after lower-casing",
      "impersonate-extra-50%": "kept",
      "impersonate-extra-__proto__": "own",
    });
    assert.deepEqual(Object.entries(extra), [
      ["example.org/team", ["x"]],
      ["A", ["decoded after lower-casing"]],
      ["50%", ["kept"]],
      ["__proto__", ["own"]],
    ]);
  });

  it("joins the values of extra keys that are equal once decoded, and asks for each of them", async () => {
    const test = impersonation();
    const headers = { "impersonate-user": "alice", "impersonate-extra-k": ["a", "b"], "impersonate-extra-%6b": "c" };
    assert.deepEqual((await test.as(headers)).extra, { k: ["a", "b", "c"] });
    const extraAsked = test.asked.slice(1);
    assert.deepEqual(
      extraAsked,
      ["a", "b", "c"].map((value) => `authentication.platform.io userextras k  ${value}`),
    );
  });

  it("is not switched off by a Connection header that names it (CVE-2022-23652)", async () => {
    const test = impersonation(() => false);
    await assert.rejects(test.as({ connection: "impersonate-user", "impersonate-user": "alice" }), { code: 403 });
  });

  it("is not asked for by headers with underscores", async () => {
    assert.equal(await impersonation().as({ impersonate_user: "alice" }), sender);
  });
});

describe("constrained impersonation", () => {
  const account: UserInfo = {
    username: "system:serviceaccount:ns:agent",
    groups: [],
    extra: { "authentication.platform.io/pod-name": ["p"], "authentication.platform.io/node-name": ["n1"] },
  };
  const usersMode = [
    "impersonate-on:user-info:list /pods -",
    "impersonate:user-info authentication.platform.io/users alice",
  ];

  it("of a user needs a permission for the user, and one for what the request does", async () => {
    const allowed = constrainedImpersonation({ rules: usersMode });
    assert.deepEqual(await allowed.as({ "impersonate-user": "alice" }), {
      user: { username: "alice", groups: ["system:authenticated"], extra: {} },
      constraint: "impersonate:user-info",
    });
    await assert.rejects(allowed.as({ "impersonate-user": "alice" }, { ...listing, verb: "delete" }), {
      code: 403,
      message:
        'pods is forbidden: User "admin" cannot impersonate-on:user-info:delete resource "pods" in API group "" in the namespace "ns"',
    });
    await assert.rejects(allowed.as({ "impersonate-user": "bob" }), {
      details: { group: "authentication.platform.io", kind: "users", name: "bob" },
    });
    const ofPath = constrainedImpersonation({
      rules: ["impersonate-on:user-info:get /version", "impersonate:user-info authentication.platform.io/users alice"],
    });
    const version = { kind: "path", user: sender, verb: "get", path: "/version" } as const;
    assert.equal((await ofPath.as({ "impersonate-user": "alice" }, version)).user.username, "alice");
  });

  it("needs a permission for each group, uid and extra, and has none for system:masters, empty groups and plain extra keys", async () => {
    const rules = [
      ...usersMode,
      "impersonate:user-info authentication.platform.io/groups dev",
      "impersonate:user-info authentication.platform.io/groups system:masters",
      "impersonate:user-info authentication.platform.io/groups -",
      "impersonate:user-info authentication.platform.io/uids u",
      "impersonate:user-info authentication.platform.io/userextras view",
      "impersonate:user-info authentication.platform.io/userextras -",
    ];
    const { as } = constrainedImpersonation({ rules });
    const alice = { "impersonate-user": "alice" };
    const whole = {
      ...alice,
      "impersonate-group": "dev",
      "impersonate-uid": "u",
      "impersonate-extra-a.io%2fb": "view",
    };
    assert.equal((await as(whole)).constraint, "impersonate:user-info");
    for (const other of [
      { "impersonate-group": "ops" },
      { "impersonate-group": "system:masters" },
      { "impersonate-group": "" },
      { "impersonate-uid": "v" },
      { "impersonate-extra-a.io%2fb": "edit" },
      { "impersonate-extra-scopes": "view" },
      { "impersonate-extra-a.io%2fb": "" },
      { "impersonate-extra-a.io%2fB%42": "view" },
      { "impersonate-extra-%2fa.io%2fb": "view" },
      { "impersonate-extra-a.io%2fb%20c": "view" },
    ]) {
      await assert.rejects(as({ ...alice, ...other }), { code: 403 }, JSON.stringify(other));
    }
  });

  it("of a service account or a node is another permission, which says nothing of other users", async () => {
    const bob = { "impersonate-user": "system:serviceaccount:ns:bob" };
    const serviceAccounts = constrainedImpersonation({
      rules: [
        "impersonate-on:serviceaccount:list /pods -",
        "impersonate:serviceaccount authentication.platform.io/serviceaccounts bob",
      ],
    });
    assert.deepEqual((await serviceAccounts.as(bob)).user.groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:ns",
      "system:authenticated",
    ]);
    await assert.rejects(serviceAccounts.as({ ...bob, "impersonate-group": "g" }), { code: 403 });
    await assert.rejects(constrainedImpersonation({ rules: usersMode }).as(bob), { code: 403 });

    const nodes = constrainedImpersonation({
      rules: [
        "impersonate-on:arbitrary-node:list /pods -",
        "impersonate:arbitrary-node authentication.platform.io/nodes n1",
      ],
    });
    assert.deepEqual((await nodes.as({ "impersonate-user": "system:node:n1" })).user.groups, [
      "system:nodes",
      "system:authenticated",
    ]);
    await assert.rejects(nodes.as({ "impersonate-user": "system:node:n2" }), { code: 403 });
  });

  it("of a Pod's own node is a permission of its service account for all nodes on which its Pods run", async () => {
    const test = constrainedImpersonation({
      by: account,
      rules: [
        "impersonate-on:associated-node:list /pods -",
        "impersonate:associated-node authentication.platform.io/nodes *",
      ],
    });
    const { user, constraint } = await test.as({ "impersonate-user": "system:node:n1" });
    assert.deepEqual(
      [user.groups, constraint],
      [["system:nodes", "system:authenticated"], "impersonate:associated-node"],
    );
    const [asker] = test.askers;
    assert.deepEqual(asker?.extra, {
      "authentication.platform.io/associated-node-keys": Object.keys(account.extra).toSorted(),
    });
    await assert.rejects(test.as({ "impersonate-user": "system:node:n2" }), { code: 403 });
  });

  it("has a mode for each kind of user, which is no use for the other kinds", async () => {
    const rulesOf = (mode: string, ...subjects: readonly string[]): string[] => [
      `impersonate-on:${mode}:list /pods -`,
      ...subjects.map((subject) => `impersonate:${mode} authentication.platform.io/${subject}`),
    ];
    const subjects = ["users alice", "users system:node:n1", "nodes n1", "nodes *", "serviceaccounts bob"];
    const allowed = async (mode: string, name: string, by: UserInfo = account): Promise<boolean> => {
      const { as } = constrainedImpersonation({ by, rules: rulesOf(mode, ...subjects) });
      return as({ "impersonate-user": name }).then(
        () => true,
        (error: { readonly code: number }) => (assert.equal(error.code, 403), false),
      );
    };
    const node = "system:node:n1";
    const bob = "system:serviceaccount:ns:bob";
    for (const [mode, good] of [
      ["user-info", ["alice"]],
      ["serviceaccount", [bob]],
      ["arbitrary-node", [node]],
      ["associated-node", [node]],
    ] as const) {
      const found: string[] = [];
      for (const name of ["alice", bob, node]) if (await allowed(mode, name)) found.push(name);
      assert.deepEqual(found, good, mode);
    }
    const person = { ...account, username: "person" };
    assert.ok(!(await allowed("associated-node", node, person)), "only a service account has a node");
    const extra = { "authentication.platform.io/node-name": ["n1", "n2"] };
    assert.ok(!(await allowed("associated-node", node, { ...account, extra })), "it is unclear which node");
  });

  it("adds no uid, group or extra to a node or a service account", async () => {
    for (const [mode, user, subject] of [
      ["serviceaccount", "system:serviceaccount:ns:bob", "serviceaccounts bob"],
      ["arbitrary-node", "system:node:n1", "nodes n1"],
      ["associated-node", "system:node:n1", "nodes *"],
    ] as const) {
      const rules = [subject, "uids u", "groups g", "userextras v"].map(
        (what) => `impersonate:${mode} authentication.platform.io/${what}`,
      );
      const { as } = constrainedImpersonation({
        by: account,
        rules: [`impersonate-on:${mode}:list /pods -`, ...rules],
      });
      assert.equal((await as({ "impersonate-user": user })).constraint, `impersonate:${mode}`);
      for (const more of [
        { "impersonate-uid": "u" },
        { "impersonate-group": "g" },
        { "impersonate-extra-a.io%2fb": "v" },
      ]) {
        await assert.rejects(as({ "impersonate-user": user, ...more }), { code: 403 }, mode);
      }
    }
  });

  it("of a name that no node and no service account can have is that of a user", async () => {
    const names = ["system:node:N_1", `${"x".repeat("system:serviceaccount:".length)}ns:bob`];
    const { as } = constrainedImpersonation({
      rules: [
        "impersonate-on:user-info:list /pods -",
        ...names.map((name) => `impersonate:user-info authentication.platform.io/users ${name}`),
      ],
    });
    for (const name of names) {
      const { user } = await as({ "impersonate-user": name });
      assert.deepEqual([user.username, user.groups], [name, ["system:authenticated"]]);
    }
  });

  it("of a node with the verb impersonate is that of a user of this name", async () => {
    const { as } = constrainedImpersonation({ rules: ["impersonate /users system:node:n1"] });
    assert.deepEqual((await as({ "impersonate-user": "system:node:n1" })).user.groups, ["system:authenticated"]);
  });

  it("names what the mode of the sender's last success lacks", async () => {
    const { as } = constrainedImpersonation({ rules: ["impersonate /users alice"] });
    await assert.rejects(as({ "impersonate-user": "bob" }), /cannot impersonate-on:user-info:list/);
    assert.equal((await as({ "impersonate-user": "alice" })).constraint, undefined);
    await assert.rejects(as({ "impersonate-user": "bob" }), /cannot impersonate resource "users"/);
  });

  it("does not take a failing authorizer for a refusal", async () => {
    const impersonate = createImpersonation({
      names: platformNames,
      impersonationOnly: { users: [], groups: [] },
      authorize: async ({ verb }) => {
        if (verb !== "impersonate") throw tooManyRequests("asked too much", 1);
        return { decision: "allow", reason: "" };
      },
    });
    const asked = async () => impersonate({ "impersonate-user": "alice" }, { user: sender, attributes: () => listing });
    await assert.rejects(asked, { code: 429 });
  });
});
