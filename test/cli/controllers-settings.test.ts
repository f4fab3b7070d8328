import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { controllers } from "../../src/cli/controllers-command.ts";
import { UsageError } from "../../src/machinery/command-line/settings/flag.ts";
import type { RemoteControllerConfig } from "../../src/server/settings/controller-settings.ts";

it("the settings of signet controllers come from flags, then variables, then the file", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "signet-controllers-"));
  const file = join(folder, "controllers.yaml");
  const variables = { SIGNET_LOG_LEVEL: "warn", SIGNET_LEADER_ELECT: "false", SIGNET_CONFIG: file };
  Object.assign(process.env, variables);
  context.after(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
    rmSync(folder, { recursive: true, force: true });
  });
  const read = async (...words: readonly string[]): Promise<RemoteControllerConfig> => {
    let config: RemoteControllerConfig | undefined;
    await controllers(async (given, { readSettings }) => {
      config = given;
      assert.equal(readSettings()["log-level"], given.log.level);
    })
      .exitOverride()
      .parseAsync(words, { from: "user" });
    return config ?? assert.fail();
  };
  writeFileSync(file, "log-level: error\nlog-format: text\ncontrollers: [csrsigning]\n");
  assert.deepEqual((await read()).log, { level: "warn", format: "text" });
  const { log, enabled, isElected } = await read("--log-level", "debug");
  assert.deepEqual([log.level, [...enabled], isElected], ["debug", ["csrsigning"], false]);
  writeFileSync(file, "# nothing yet\n");
  assert.equal((await read()).log.level, "warn");
  for (const content of ["- log-level\n", "log-level\n"]) {
    writeFileSync(file, content);
    await assert.rejects(read(), (error) => error instanceof UsageError && /holds no settings/.test(error.message));
  }
  writeFileSync(file, "secure-port: 6443\n");
  await assert.rejects(
    read(),
    (error) => error instanceof UsageError && /unknown setting "secure-port"/.test(error.message),
  );
});
