// Before anything else is loaded: see there.
await import("./without-debugger.ts");

const tokenKeyPrograms = () => import("./server/keys/token-key-programs.ts");
const authorityPrograms = () => import("./server/keys/authority-programs.ts");

if (process.argv[2] === "agent") {
  await (await import("./run-agent-command.ts")).runAgentCommand("signet agent");
} else {
  const { signetCommand } = await import("./cli/program.ts");
  const { runCommandLine } = await import("./cli/run-command-line.ts");
  const program = signetCommand({
    // Each loads only what it needs.
    serve: async (config, settings) =>
      (await import("./server/serve-until-stopped.ts")).serveUntilStopped(config, settings),
    agent: async () => (await import("./run-agent-command.ts")).runAgentCommand("signet agent"),
    controllers: async (config, connection, settings) =>
      (await import("./server/run-remote-controllers.ts")).runRemoteControllers(config, connection, settings),
    backUp: async (config, options) => (await import("./server/backup/storage-programs.ts")).runBackUp(config, options),
    restore: async (config, options) =>
      (await import("./server/backup/storage-programs.ts")).runRestore(config, options),
    migrateStorage: async (config, options) =>
      (await import("./server/backup/storage-programs.ts")).runMigrateStorage(config, options),
    tokenKeys: {
      list: async (config, flags) => (await tokenKeyPrograms()).runListTokenKeys(config, flags),
      rotate: async (config, options) => (await tokenKeyPrograms()).runRotateTokenKey(config, options),
      retire: async (config, options) => (await tokenKeyPrograms()).runRetireTokenKey(config, options),
    },
    authorities: {
      list: async (config, flags) => (await authorityPrograms()).runListAuthorities(config, flags),
      prepare: async (config, options) => (await authorityPrograms()).runPrepareAuthority(config, options),
      switchTo: async (config, options) => (await authorityPrograms()).runSwitchAuthority(config, options),
      retire: async (config, options) => (await authorityPrograms()).runRetireAuthority(config, options),
      abort: async (config, options) => (await authorityPrograms()).runAbortAuthority(config, options),
    },
    encryption: async (config, action) =>
      (await import("./server/encryption/encryption-programs.ts")).runEncryption(config, action),
    doctor: async (config) => (await import("./server/doctor/doctor-programs.ts")).runDoctor(config),
    supportBundle: async (config, file) =>
      (await import("./server/doctor/doctor-programs.ts")).runSupportBundle(config, file),
    issue: async (program) => (await import("./agent/issue-program.ts")).runIssueProgram(program),
  });
  await runCommandLine(process.argv, program);
}
