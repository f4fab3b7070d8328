import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { readInputFile } from "../../../src/machinery/command-line/input-file.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

describe("the input of a command", () => {
  const folder = temporaryFolder();
  const flag = "from-file";

  it("is standard input for -", async () => {
    const standardInput = Readable.from([Buffer.from("a "), Buffer.from("request")]);
    assert.equal(await readInputFile({ flag, file: "-", standardInput }), "a request");
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  it(
    "is announced on a terminal, where nobody else says that the command waits",
    {
      skip: !hasScript && "script(1) is not installed",
    },
    () => {
      const source = import.meta.resolve("../../../src/machinery/command-line/input-file.ts");
      const program = `import { readInputFile } from "${source}"; await readInputFile({ flag: "${flag}", file: "-" });`;
      const command = `"${process.execPath}" --input-type=module -e '${program}'`;
      const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], { input: "\u0004", encoding: "utf8" });
      assert.match(stdout, /^reading --from-file from the terminal: end it with a new line and Ctrl-D\r?$/m);
    },
  );

  it("may come from a pipe, as that of another command", async () => {
    const file = join(folder, "pipe");
    assert.equal(spawnSync("mkfifo", [file]).status, 0);
    const [text] = await Promise.all([readInputFile({ flag, file }), writeFile(file, "a request")]);
    assert.equal(text, "a request");
  });

  it("is read without the byte order mark that programs of Windows begin it with", async () => {
    const file = join(folder, "marked");
    writeFileSync(file, "\uFEFFa request");
    assert.equal(await readInputFile({ flag, file }), "a request");
  });

  it("is refused when it never ends, or is no file", async () => {
    for (const [file, reason] of [
      ["/dev/zero", /^--from-file: \/dev\/zero is longer than 16 MiB; name a smaller one$/],
      [folder, /^--from-file: cannot read \S+: it is a folder; name a file$/],
      [join(folder, "nosuch"), /^--from-file: cannot read \S+: there is no such file; name another$/],
    ] as const) {
      await assert.rejects(readInputFile({ flag, file }), { name: "UsageError", message: reason });
    }
  });
});
