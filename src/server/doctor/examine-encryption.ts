import { statSync } from "node:fs";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { isOpenToOthers } from "../../machinery/files/is-open-to-others.ts";
import { StoreDamaged } from "../../machinery/storage/store.ts";
import { objectsOf, surveyEncryption } from "../encryption/stored-encryption.ts";
import type { EncryptionSurvey } from "../encryption/stored-encryption.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { withOpenStore } from "../store/with-server-store.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { counted } from "../../machinery/command-line/output/counted.ts";
import { shellWord } from "../../machinery/command-line/output/shell-word.ts";

const subject = "encryption";

/** Examines how objects are encrypted, and whether they can be decrypted. Shows no contents. */
export async function examineEncryption(location: StoreLocation): Promise<Finding[]> {
  const { configuration } = location.encryption;
  const findings = configuration === undefined ? [] : rightsOf(configuration.file);
  try {
    findings.push(...faultsOf(await withOpenStore(location, surveyEncryption), location));
  } catch (error) {
    findings.push(bad(subject, { found: messageOf(error), advice: "give the settings that the server has" }));
  }
  return findings.length > 0 ? findings : [good(subject, "what should be encrypted is, and can be decrypted")];
}

function faultsOf(survey: EncryptionSurvey, location: StoreLocation): Finding[] {
  const { withoutKms, damaged, lost } = survey;
  const findings: Finding[] = [];
  if (withoutKms > 0) {
    const found = `${counted(withoutKms, "object")} can't be decrypted while the KMS does not work`;
    findings.push(bad(subject, { found, advice: "see signet encryption status; start the KMS" }));
  }
  if (damaged > 0) {
    const found = `the store's file is damaged: ${counted(damaged, "object")} can't be read`;
    findings.push(bad("storage", { found, advice: StoreDamaged.advice }));
  }
  if (lost > 0) {
    const found = `${counted(lost, "object")} can't be decrypted`;
    findings.push(bad(subject, { found, advice: "see signet encryption status; put their key back" }));
  }
  const stale = objectsOf(survey, "stale");
  if (stale > 0) {
    const found = `${counted(stale, "object")} not encrypted as the settings say`;
    findings.push(warning(subject, { found, advice: "signet encryption rewrite" }));
  }
  if (hasPlainSecrets(survey) || (location.storage.type === "etcd" && isOff(location))) {
    const advice =
      location.storage.type === "own" && isOff(location)
        ? "start the server, which makes encryption.key; then: signet encryption rewrite"
        : "give --encryption-key-file, see docs/encryption.md";
    findings.push(warning(subject, { found: "Secrets are not encrypted in the store", advice }));
  }
  return findings;
}

/** Whether Secrets are stored in plain because the settings say so. */
const hasPlainSecrets = ({ groups }: EncryptionSurvey): boolean =>
  groups.some(
    ({ resource, writtenWith, state }) => resource === "secrets" && writtenWith === "plain" && state === "current",
  );

const isOff = ({ encryption: { configuration, keyFile } }: StoreLocation): boolean =>
  configuration === undefined && keyFile === undefined;

function rightsOf(file: string): Finding[] {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined || !isOpenToOthers(file, status)) return [];
  return [warning(subject, { found: `others can read or write ${file}`, advice: `chmod 600 ${shellWord(file)}` })];
}
