import { statSync } from "node:fs";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { isOpenToOthers } from "../../machinery/files/is-open-to-others.ts";
import { StoreDamaged } from "../../machinery/storage/store.ts";
import { openReadableStore } from "../encryption/readable-store.ts";
import { objectsOf, surveyEncryption } from "../encryption/stored-encryption.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { counted } from "../../machinery/command-line/output/counted.ts";
import { shellWord } from "../../machinery/command-line/output/shell-word.ts";

const subject = "encryption";

/** Examines how objects are encrypted, and whether they can be decrypted. Shows no contents. */
export async function examineEncryption(location: StoreLocation): Promise<Finding[]> {
  const { encryption, storage } = location;
  const findings = encryption.configuration === undefined ? [] : rightsOf(encryption.configuration.file);
  try {
    const opened = await openReadableStore(location);
    try {
      const survey = await surveyEncryption(opened);
      const { groups, withoutKms, damaged } = survey;
      if (withoutKms > 0) {
        const found = `${counted(withoutKms, "object")} can't be decrypted while the KMS does not work`;
        findings.push(bad(subject, { found, advice: "see signet encryption status; start the KMS" }));
      }
      if (damaged > 0) {
        const found = `the store's file is damaged: ${counted(damaged, "object")} can't be read`;
        findings.push(bad("storage", { found, advice: StoreDamaged.advice }));
      }
      const lost = objectsOf(survey, "unreadable") - withoutKms - damaged;
      if (lost > 0) {
        const advice = "see signet encryption status; put their key back";
        findings.push(bad(subject, { found: `${counted(lost, "object")} can't be decrypted`, advice }));
      }
      const stale = objectsOf(survey, "stale");
      if (stale > 0) {
        findings.push(
          warning(subject, {
            found: `${counted(stale, "object")} not encrypted as the settings say`,
            advice: "signet encryption rewrite",
          }),
        );
      }
      const plain = groups.filter(({ resource, writtenWith }) => resource === "secrets" && writtenWith === "plain");
      const isPlainWanted = plain.some(({ state }) => state === "current");
      if (isPlainWanted || (storage.type === "etcd" && isOff(location))) {
        findings.push(
          warning(subject, {
            found: "Secrets are not encrypted in the store",
            advice:
              storage.type === "own" && isOff(location)
                ? "start the server, which makes encryption.key; then: signet encryption rewrite"
                : "give --encryption-key-file, see docs/encryption.md",
          }),
        );
      }
    } finally {
      await opened.close();
    }
  } catch (error) {
    findings.push(bad(subject, { found: messageOf(error), advice: "give the settings that the server has" }));
  }
  return findings.length > 0 ? findings : [good(subject, "what should be encrypted is, and can be decrypted")];
}

const isOff = ({ encryption: { configuration, keyFile } }: StoreLocation): boolean =>
  configuration === undefined && keyFile === undefined;

function rightsOf(file: string): Finding[] {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined || !isOpenToOthers(file, status)) return [];
  return [warning(subject, { found: `others can read or write ${file}`, advice: `chmod 600 ${shellWord(file)}` })];
}
