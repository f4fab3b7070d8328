/** The block that the README asks to paste, run as it stands. `npm run test:front-page` does so on every Node.js. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { comparable } from "./console-blocks.ts";
import { frontPage, pasteFrontPage, shells } from "./front-page.ts";

for (const shell of shells) {
  const isMissing = spawnSync(shell.name, ["-c", "true"]).status !== 0;
  describe(`the front page in ${shell.name}`, { skip: isMissing && `${shell.name} is not installed` }, () => {
    it("goes from a clone to a token and a certificate in an empty folder, and shows what is printed", () => {
      const { output, transcript, files } = pasteFrontPage(shell);
      assert.equal(comparable(output), comparable(frontPage().output), transcript);
      assert.match(files["robot.token"] ?? "", /^eyJ/);
      assert.match(files["ann.crt"] ?? "", /^-----BEGIN CERTIFICATE-----/);
    });
  });
}
