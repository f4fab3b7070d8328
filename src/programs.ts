import type { Programs } from "./cli/program.ts";
import type { CertificateSettings } from "./features/certificates/settings.ts";
import type { KeyStore } from "./machinery/keys/key-records.ts";
import type { ServerConfig } from "./server/settings/server-config.ts";

const keyStore = () => import("./server/store/open-key-store.ts");
const tokenKeyPrograms = () => import("./features/accounts/keys/token-key-programs.ts");
const authorityPrograms = () => import("./features/certificates/authorities/authority-programs.ts");
const storagePrograms = () => import("./server/backup/storage-programs.ts");
const doctorPrograms = () => import("./server/doctor/doctor-programs.ts");

/** Opens the server's store for a program that works on the token keys. */
async function onTokenKeys(
  config: ServerConfig,
  run: (programs: Awaited<ReturnType<typeof tokenKeyPrograms>>, keys: KeyStore) => Promise<void>,
): Promise<void> {
  const programs = await tokenKeyPrograms();
  await (await keyStore()).withKeyStore(config, (keys) => run(programs, keys));
}

async function onAuthorities(
  config: ServerConfig,
  run: (
    programs: Awaited<ReturnType<typeof authorityPrograms>>,
    opened: { readonly keys: KeyStore; readonly settings: CertificateSettings },
  ) => Promise<void>,
): Promise<void> {
  const programs = await authorityPrograms();
  await (
    await keyStore()
  ).withKeyStore(config, (keys) => run(programs, { keys, settings: config.controllers.certificates }));
}

/** The programs behind the commands of `signet`. Each loads only what it needs. */
export const programs: Programs = {
  serve: async (config, settings) =>
    (await import("./server/serve-until-stopped.ts")).serveUntilStopped(config, settings),
  agent: async (program) => {
    const { runAgentProgram } = await import("./agent/agent-program.ts");
    const { signetVersion } = await import("./server/signet-version.ts");
    return runAgentProgram(program, signetVersion);
  },
  controllers: async (config, options) =>
    (await import("./server/controllers/run-remote-controllers.ts")).runRemoteControllers(config, options),
  backUp: async (config, options) => (await storagePrograms()).runBackUp(config, options),
  restore: async (config, options) => (await storagePrograms()).runRestore(config, options),
  migrateStorage: async (config, options) => (await storagePrograms()).runMigrateStorage(config, options),
  tokenKeys: {
    list: (config, flags) => onTokenKeys(config, (programs, keys) => programs.runListTokenKeys(keys, flags)),
    rotate: (config, options) => onTokenKeys(config, (programs, keys) => programs.runRotateTokenKey(keys, options)),
    retire: (config, options) => onTokenKeys(config, (programs, keys) => programs.runRetireTokenKey(keys, options)),
    reseal: async (config, confirm) => (await import("./server/store/reseal-keys.ts")).runResealKeys(config, confirm),
  },
  authorities: {
    list: (config, flags) =>
      onAuthorities(config, (programs, { keys, settings }) => programs.runListAuthorities(keys, { settings, flags })),
    prepare: (config, options) =>
      onAuthorities(config, (programs, { keys, settings }) =>
        programs.runPrepareAuthority(keys, { ...options, settings }),
      ),
    switchTo: (config, options) =>
      onAuthorities(config, (programs, { keys, settings }) =>
        programs.runSwitchAuthority(keys, { ...options, settings }),
      ),
    retire: (config, options) =>
      onAuthorities(config, (programs, { keys }) => programs.runRetireAuthority(keys, options)),
    abort: (config, options) =>
      onAuthorities(config, (programs, { keys }) => programs.runAbortAuthority(keys, options)),
  },
  encryption: async (config, action) =>
    (await import("./server/encryption/encryption-programs.ts")).runEncryption(config, action),
  doctor: async (config) => (await doctorPrograms()).runDoctor(config),
  supportBundle: async (config, file) => (await doctorPrograms()).runSupportBundle(config, file),
  issue: async (program) => (await import("./agent/issue/issue-program.ts")).runIssueProgram(program),
};
