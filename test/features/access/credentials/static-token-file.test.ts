import assert from "node:assert/strict";
import { it } from "node:test";
import { parseTokenFile } from "../../../../src/features/access/credentials/static-token-file.ts";

it("a token file may have quoted columns, comments, blank lines and any line ends", () => {
  const find = parseTokenFile(
    '# admins\n\n"t,1","a ""b""",u1,"g1, g2"\r\nt2,bob,\nt3,carol,u3,solo\n t4 , dave#1 , u4 \n',
  );
  assert.deepEqual(find("t,1"), { username: 'a "b"', uid: "u1", groups: ["g1", "g2"], extra: {} });
  assert.deepEqual(find("t2"), { username: "bob", groups: [], extra: {} });
  assert.deepEqual(find("t3")?.groups, ["solo"]);
  assert.deepEqual(find("t4"), { username: "dave#1", uid: "u4", groups: [], extra: {} });
  for (const token of ["", "t", " t4 ", "t1", "# admins", "constructor"]) assert.equal(find(token), undefined);
});

it("the error for an invalid token file names the line and never quotes it", () => {
  for (const [line, message] of [
    ["secret,bob", /line 2: token, user and uid are required/],
    [",bob,1", /line 2: the token is empty/],
    ["secret,,1", /line 2: the user is empty/],
    ['secret,"bob,1', /line 2: a quote is not closed/],
    ["first,bob,1", /line 2: the token is already on an earlier line/],
  ] as const) {
    assert.throws(
      () => parseTokenFile(`first,a,1\n${line}`),
      (error: Error) => message.test(error.message) && !error.message.includes("secret"),
    );
  }
});
