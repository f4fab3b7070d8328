import assert from "node:assert/strict";
import { readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const folder = temporaryFolder();
const file = join(folder, "file");

/** Its version is its size, too: the clock of a file system is slow. */
const write = (text: string, name = file): void => writeFileSync(name, text);

function readNumber(): number {
  const text = readFileSync(file, "utf8").trim();
  if (!/^\d+$/.test(text)) throw new Error(`not a number: ${text}`);
  return Number(text);
}

let told: [level: string, message: string, reason?: unknown][];
let followed: FollowedFiles;
const look = (): void => followed.refresh({ isForced: false });

beforeEach(() => {
  told = [];
  followed = new FollowedFiles({
    log: {
      info: (fields, message) => told.push(["info", message, fields["number"]]),
      error: (fields, message) => told.push(["error", message, fields["reason"]]),
    },
  });
  write("1");
});

describe("followed files", () => {
  const number = {
    setting: "number",
    files: () => [file],
    load: readNumber,
    describe: (one: number) => ({ number: one }),
  };

  it("do not let a check throw when what is said of a new value fails", () => {
    const describe = (): never => {
      throw new Error("no words");
    };
    const current = followed.follow({ ...number, describe });
    write("22");
    look();
    assert.equal(current(), 22);
    assert.deepEqual(
      told.map(([level, , reason]) => [level, reason]),
      [["error", "no words"]],
    );
  });

  it("are read at the start, and again when a check finds them changed", () => {
    let reads = 0;
    const current = followed.follow({
      ...number,
      load() {
        reads++;
        return readNumber();
      },
    });
    look();
    assert.deepEqual([current(), reads], [1, 1]);
    write("22");
    assert.equal(current(), 1, "reading the value reads no file");
    look();
    assert.deepEqual([current(), reads], [22, 2]);
    assert.deepEqual(told, [["info", "file read again", 22]]);
  });

  it("throw at the start when they cannot be used", () => {
    write("one");
    assert.throws(() => followed.follow(number), /not a number/);
  });

  it("keep the last good value when they cannot be used later, report that once, and again on request", () => {
    const current = followed.follow(number);
    write("bad");
    look();
    look();
    assert.equal(current(), 1);
    assert.equal(told.length, 1);
    assert.match(String(told[0]?.[2]), /not a number: bad/);
    followed.refresh({ isForced: true });
    assert.equal(told.length, 2);
    unlinkSync(file);
    look();
    assert.match(String(told[2]?.[2]), /ENOENT/);
    write("4444");
    look();
    assert.equal(current(), 4444);
  });

  it("count as usable again when what was read last is back", () => {
    const [good, bad] = [join(folder, "good"), join(folder, "bad")];
    write("1", good);
    write("bad", bad);
    const leadTo = (target: string): void => {
      rmSync(file);
      symlinkSync(target, file);
      look();
    };
    leadTo(good);
    followed.follow(number);
    const unusable = [bad, good, bad].map((target) => {
      leadTo(target);
      return [...followed.unusable()];
    });
    rmSync(file);
    assert.deepEqual(unusable, [["number"], [], ["number"]]);
    assert.equal(told.length, 2);
  });

  it("are read again ten seconds after a failure, although they have not changed since", (context) => {
    let now = 0;
    context.mock.method(performance, "now", () => now);
    let isShortOfDescriptors = false;
    const current = followed.follow({
      ...number,
      load() {
        if (isShortOfDescriptors) throw new Error("EMFILE");
        return readNumber();
      },
    });
    write("22");
    isShortOfDescriptors = true;
    look();
    isShortOfDescriptors = false;
    now = 9_999;
    look();
    assert.equal(current(), 1);
    now = 10_000;
    look();
    assert.equal(current(), 22);
  });

  it("keep the last value when its user refuses the new one", () => {
    const used: number[] = [];
    const current = followed.follow({
      ...number,
      onChange(one) {
        if (one > 100) throw new Error("too large");
        used.push(one);
      },
    });
    write("1000");
    look();
    assert.equal(current(), 1);
    write("50");
    look();
    assert.deepEqual([current(), used], [50, [50]]);
  });

  it("have a value closed some time after the next one came into use", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const closed: number[] = [];
    followed.follow({ ...number, retirement: { milliseconds: 1000, close: (one: number) => closed.push(one) } });
    write("bad");
    look();
    context.mock.timers.tick(1000);
    assert.deepEqual(closed, [], "the last good value is in use");
    write("22");
    look();
    context.mock.timers.tick(999);
    assert.deepEqual(closed, []);
    context.mock.timers.tick(1);
    assert.deepEqual(closed, [1]);
  });

  it("may name other files, which are followed from then on", () => {
    const other = join(folder, "other");
    write("7", other);
    let reads = 0;
    followed.follow<readonly string[]>({
      setting: "names",
      files: (names = [file]) => names,
      load() {
        reads++;
        return [file, other];
      },
    });
    write("22");
    look();
    look();
    assert.equal(reads, 2);
    write("77", other);
    look();
    assert.equal(reads, 3);
  });

  it("are not read again because the first read names others, unless a file has changed during it", () => {
    const other = join(folder, "named-first");
    write("1", other);
    const readsWith = (duringRead: () => void): number => {
      let reads = 0;
      followed.follow<readonly string[]>({
        setting: "named-first",
        files: (names = [file]) => names,
        load() {
          if (reads++ === 0) duringRead();
          return [file, other];
        },
      });
      look();
      look();
      return reads;
    };
    assert.deepEqual([readsWith(() => {}), readsWith(() => write("22"))], [1, 2]);
  });

  it("of a group are followed until the group is stopped", () => {
    const group = followed.group();
    const current = group.follow(number);
    write("22");
    look();
    assert.equal(current(), 22);
    group.stop();
    write("333");
    look();
    assert.equal(current(), 22);
  });
});
