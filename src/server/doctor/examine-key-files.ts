import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import pino from "pino";
import { firstKeyFiles } from "../../features/accounts/keys/open-token-keys.ts";
import { readTokenKeyFile } from "../../features/accounts/keys/stored-token-keys.ts";
import { authorityFiles } from "../../features/certificates/authorities/data-directory-authorities.ts";
import { openAuthorityInFiles } from "../../features/certificates/authorities/authority-in-files.ts";
import { readReplacedAuthorities } from "../../features/certificates/authorities/replaced-authorities.ts";
import { replacedAuthoritiesFile } from "../../features/certificates/authorities/signing-authorities.ts";
import { systemClock } from "../../machinery/api/clock.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { SealingKey, sealingKeyFile } from "../../machinery/keys/sealing-key.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { readKeyHolders, sealedKeys } from "../store/sealed-keys.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

const subject = "key files";

/**
 * Reads the keys and the CAs of a data directory as the server does at its start. The server makes missing CAs then, so they are no fault.
 */
export async function examineKeyFiles(store: Store, dataDirectory: string): Promise<Finding[]> {
  const { ring, authorities } = await readKeyHolders(store);
  const inFiles = [...authorityFiles(dataDirectory)]
    .filter(([name]) => authorities?.authorities[name] === undefined)
    .map(([, file]) => file)
    .filter((file) => existsSync(`${file}.crt`));
  const tokenKeys =
    ring === undefined
      ? Object.values(firstKeyFiles)
      : ring.keys.flatMap(({ privateKey }) => ("file" in privateKey ? [privateKey.file] : []));
  const log = pino({ level: "silent" });
  const reads: readonly (() => unknown)[] = [
    ...inFiles.map((file) => () => {
      openAuthorityInFiles({ dataDirectory: dirname(file), baseName: basename(file), clock: systemClock, log });
    }),
    ...tokenKeys.map((file) => () => readTokenKeyFile(join(dataDirectory, file))),
    // When the store has sealed keys, `examineSealedKeys` says what is wrong with the sealing key.
    ...(sealedKeys({ ring, authorities }).length === 0 && existsSync(join(dataDirectory, sealingKeyFile))
      ? [() => SealingKey.open(dataDirectory, { makesKey: false })]
      : []),
    () => readReplacedAuthorities(replacedAuthoritiesFile(dataDirectory)),
  ];
  const findings = reads.flatMap((read) => {
    try {
      read();
      return [];
    } catch (error) {
      if (!(error instanceof UnusableFile || error instanceof UsageError)) throw error;
      return [bad(subject, { found: error.message, advice: "no server starts with it" })];
    }
  });
  if (ring !== undefined) {
    const gone = tokenKeys.filter((file) => !existsSync(join(dataDirectory, file)));
    const advice =
      "put it back from a backup; or, if you have deleted it, all tokens that it has signed end with the next start";
    findings.push(...gone.map((file) => warning(subject, { found: `${join(dataDirectory, file)} is gone`, advice })));
  }
  return findings.length > 0 ? findings : [good(subject, `the keys and CAs in ${dataDirectory} can be used`)];
}
