/** The block that the README asks to paste. `npm run test:front-page` pastes it into each shell on each Node.js. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { comparable } from "./console-blocks.ts";
import { frontPage, pasteFrontPage, shells } from "./front-page.ts";

describe("the front page", () => {
  it("goes from a clone to a token and a certificate in an empty folder, and shows what is printed", () => {
    const { output, transcript, files } = pasteFrontPage(shells.bash);
    assert.equal(comparable(output), comparable(frontPage().output), transcript);
    assert.match(files["robot.token"] ?? "", /^eyJ/);
    assert.match(files["ann.crt"] ?? "", /^-----BEGIN CERTIFICATE-----/);
  });

  const hasZsh = spawnSync("zsh", ["-c", "true"]).status === 0;
  it("runs in zsh too", { skip: !hasZsh && "zsh is not installed" }, () => {
    const { status, stderr } = spawnSync("zsh", ["-n"], { input: frontPage().block, encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);
  });
});
