import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unprintableCharacters } from "../../../src/machinery/api/text/unprintable-characters.ts";
import { logLineAsText } from "../../../src/machinery/logging/log-line-as-text.ts";

const textOf = (fields: object): string => logLineAsText(`${JSON.stringify({ time: 1_795_318_397_189, ...fields })}\n`);

describe("a line of the log for people", () => {
  it("has a readable time, the level, the message and the fields", () => {
    assert.equal(
      textOf({ level: 30, signer: "platform.io/web", by: "system:controller", lines: 3, msg: "certificate issued" }),
      "2026-11-22T03:33:17.189Z INFO  certificate issued  signer=platform.io/web  by=system:controller  lines=3\n",
    );
  });

  it("is one line without characters that steer a terminal or hide text, whatever its values contain", () => {
    const hostile = "a\nERROR fake \u001b[2J\u202e\u2028\u3164\ufe0f\ud800";
    const line = textOf({ level: 40, name: hostile, msg: `re\u001b]0;fused\r${hostile}` });
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.equal(line.trimEnd().search(unprintableCharacters), -1);
  });

  it("shows the message of an error, and its stack only when the process ends", () => {
    const err = { type: "Error", message: "no room", stack: "Error: no room\n    at somewhere" };
    assert.equal(textOf({ level: 50, err, msg: "failed" }), '2026-11-22T03:33:17.189Z ERROR failed  err="no room"\n');
    assert.match(textOf({ level: 60, err, msg: "a bug" }), /at somewhere\n$/);
  });
});
