import type { Programs } from "./cli/program.ts";

const tokenKeyPrograms = () => import("./server/keys/token-key-programs.ts");
const authorityPrograms = () => import("./server/keys/authority-programs.ts");
const storagePrograms = () => import("./server/backup/storage-programs.ts");
const doctorPrograms = () => import("./server/doctor/doctor-programs.ts");

/** The programs behind the commands of `signet`. Each loads only what it needs. */
export const programs: Programs = {
  serve: async (config, settings) =>
    (await import("./server/serve-until-stopped.ts")).serveUntilStopped(config, settings),
  agent: async (program) => {
    const { runAgentProgram } = await import("./agent/agent-program.ts");
    const { signetVersion } = await import("./server/signet-version.ts");
    return runAgentProgram(program, signetVersion);
  },
  controllers: async (config, connection, settings) =>
    (await import("./server/run-remote-controllers.ts")).runRemoteControllers(config, connection, settings),
  backUp: async (config, options) => (await storagePrograms()).runBackUp(config, options),
  restore: async (config, options) => (await storagePrograms()).runRestore(config, options),
  migrateStorage: async (config, options) => (await storagePrograms()).runMigrateStorage(config, options),
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
  doctor: async (config) => (await doctorPrograms()).runDoctor(config),
  supportBundle: async (config, file) => (await doctorPrograms()).runSupportBundle(config, file),
  issue: async (program) => (await import("./agent/issue-program.ts")).runIssueProgram(program),
};
