import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { ReplacedAuthorities } from "../../../../src/features/certificates/authorities/replaced-authorities.ts";
import { UsageError } from "../../../../src/machinery/command-line/settings/flag.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { newAuthority } from "../../../end-to-end/signing-authority.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const hour = 3_600_000;
const year = 365 * 24 * hour;

describe("a CA of client certificates that was replaced", () => {
  const folder = temporaryFolder();
  const [before, now] = [newAuthority("before").certificate, newAuthority("now").certificate];
  let file: string;
  let time: number;
  beforeEach(() => {
    file = join(mkdtempSync(join(folder, "data-")), "known.json");
    time = Date.now();
  });
  /** As a server after a start. */
  const started = (): ReplacedAuthorities =>
    new ReplacedAuthorities({
      file,
      clock: { now: () => time },
      overlapMilliseconds: 12 * hour,
      onReplaced: () => {},
      writing: { failed: () => assert.fail(), succeeded: () => {} },
    });
  const trusted = (current: readonly Certificate[]): readonly Certificate[] => {
    const authorities = started();
    authorities.observe(current);
    return authorities.certificates();
  };

  it("is trusted as long after a start with a clock that was years ahead or behind", () => {
    trusted([before]);
    trusted([now]);
    for (const wrong of [50 * year, -50 * year]) {
      time += wrong;
      trusted([now]);
      time -= wrong;
      assert.deepEqual(trusted([now]), [before]);
    }
    time += 12 * hour;
    assert.deepEqual(trusted([now]), []);
  });

  it("is forgotten when many others were replaced after it and their time is over, too", () => {
    const all = Array.from({ length: 18 }, (_, number) => newAuthority(`number ${number}`).certificate);
    for (const one of all) {
      trusted([one]);
      time += 1000;
    }
    assert.equal(trusted([now]).length, 18);
    time += year;
    trusted([now]);
    time -= year;
    const namesOf = (some: readonly Certificate[]): readonly string[] => some.map(({ subject }) => subject.commonName);
    assert.deepEqual(namesOf(trusted([now])), namesOf(all.slice(2)));
  });

  it("keeps a server from starting when somebody wrote a time into its file that is none, which is named", () => {
    trusted([before]);
    trusted([now]);
    const text = readFileSync(file, "utf8").replace(/"acceptedUntil": ".*"/, '"acceptedUntil": "2030-13-01"');
    writeFileSync(file, text);
    assert.throws(started, (error: Error) => {
      assert.ok(error instanceof UsageError);
      assert.ok(error.message.startsWith(`${file} cannot be read: acceptedUntil must be a time`));
      assert.match(error.message, /not "2030-13-01"/);
      return true;
    });
  });
});
