import assert from "node:assert/strict";
import { test } from "node:test";
import {
  environmentFlags,
  resolveFlags,
  settingsOf,
  UsageError,
} from "../../../../src/machinery/command-line/settings/flag.ts";
import type { Flags } from "../../../../src/machinery/command-line/settings/flag.ts";

const flags = {
  port: { type: "integer", default: 1, minimum: 0, maximum: 9, help: "" },
  wait: { type: "duration", help: "" },
  on: { type: "boolean", default: false, help: "" },
  list: { type: "strings", help: "" },
  modes: { type: "strings", default: ["a"], choices: ["a", "b"], help: "" },
  mode: { type: "string", default: "a", choices: ["a", "b"], help: "" },
  path: { type: "file", help: "" },
} as const satisfies Flags;

const resolve = (commandLine: Record<string, unknown>, file: Record<string, unknown> = {}) =>
  resolveFlags(flags, { commandLine, file });

test("the command line comes before the file, and the file before the defaults", () => {
  assert.equal(resolve({}).port, 1);
  assert.equal(resolve({}, { port: 3 }).port, 3);
  assert.equal(resolve({ port: "5" }, { port: 3 }).port, 5);
});

test("an environment variable comes after the command line and before the file", () => {
  const environment = environmentFlags(Object.keys(flags), { SIGNET_PORT: "4", SIGNET_MODE: "", SIGNET_OTHER: "x" });
  assert.deepEqual(environment, { port: "4" });
  assert.equal(resolveFlags(flags, { commandLine: {}, environment, file: { port: 3 } }).port, 4);
  assert.equal(resolveFlags(flags, { commandLine: { port: "5" }, environment, file: {} }).port, 5);
  const wrong = environmentFlags(["port"], { SIGNET_PORT: "tcp://10.0.0.1:80" });
  assert.throws(
    () => resolveFlags(flags, { commandLine: {}, environment: wrong, file: {} }),
    /^UsageError: SIGNET_PORT: /,
  );
});

test("a refusal after the parsing says which of its flags are not from the command line", () => {
  const message = '--port needs --wait and --mode=b, not "a\\" --path"';
  const refused = (given: Parameters<typeof resolve>): string => {
    const [commandLine, file = {}] = given;
    try {
      settingsOf(flags, {
        given: { commandLine, environment: { wait: "1s" }, file, fileName: "a.yaml" },
        make: () => {
          throw new UsageError(message);
        },
      });
    } catch (error) {
      return error instanceof UsageError ? error.message : "";
    }
    return "";
  };
  assert.equal(refused([{ port: "1", wait: "2s" }]), message);
  assert.equal(refused([{ port: "1" }]), `${message} (SIGNET_WAIT sets --wait)`);
  assert.equal(
    refused([{}, { port: 1, wait: "2s", path: "x" }]),
    `${message} (--config: a.yaml sets --port; SIGNET_WAIT sets --wait)`,
  );
});

test("values are parsed according to the type of their flag", () => {
  const values = resolve({ wait: "1h30m", on: true, list: ["a,b", "c"], modes: "b,a", mode: "b" });
  assert.deepEqual(values, {
    port: 1,
    wait: 5_400_000,
    on: true,
    list: ["a", "b", "c"],
    modes: ["b", "a"],
    mode: "b",
    path: undefined,
  });
});

test("a list setting may be a list or one value in the file", () => {
  assert.deepEqual(resolve({}, { list: ["a", "b"] }).list, ["a", "b"]);
  assert.deepEqual(resolve({}, { list: "a" }).list, ["a"]);
});

test("an empty text is refused, but not an empty list of the file", () => {
  const empty = /^UsageError: .*(--|configuration file: )\w+ is empty; give a value, or leave it out/;
  for (const name of ["list", "modes", "mode", "path"]) {
    assert.throws(() => resolve({ [name]: "" }), empty, name);
    assert.throws(() => resolve({}, { [name]: "" }), empty, name);
  }
  assert.throws(() => resolve({ list: [","] }), empty);
  assert.throws(() => resolve({}, { list: [""] }), empty);
  assert.deepEqual(resolve({ list: ["a,"] }).list, ["a"]);
  assert.deepEqual(resolve({}, { modes: [] }).modes, []);
});

test("a wrong value is refused with its flag's name", () => {
  const refusals: [Record<string, unknown>, Record<string, unknown>, RegExp][] = [
    [{ port: "10" }, {}, /^--port: "10" is not a whole number from 0 to 9$/],
    [{ port: "1x" }, {}, /^--port: "1x" is not a whole number/],
    [{ wait: "5 minutes" }, {}, /^--wait: "5 minutes" is not a duration/],
    [{ wait: "99999999999h" }, {}, /^--wait: "99999999999h" is too long: give a duration of 365000d at most$/],
    [{}, { on: "maybe" }, /^configuration file: on: "maybe" is not true or false$/],
    [{}, { port: [1] }, /^configuration file: port: \[1\] is not one value$/],
    [{}, { mode: { a: 1 } }, /^configuration file: mode: \{"a":1\} is not one value$/],
    [{}, { list: { a: 1 } }, /^configuration file: list: \{"a":1\} is not one value or a list of values$/],
    [{}, { list: ["a", null] }, /^configuration file: list: \["a",null\] is not one value or a list of values$/],
    [{ mode: "c" }, {}, /^--mode: "c" is not one of a, b$/],
    [{ modes: ["a,c"] }, {}, /^--modes: "c" is not one of a, b$/],
    [
      {},
      { prot: 1 },
      /^configuration file: unknown setting "prot" \(did you mean port\?\); --help shows those that there are$/,
    ],
    [{}, { toString: 1 }, /^configuration file: unknown setting "toString"; --help shows those/],
  ];
  for (const [commandLine, file, message] of refusals) {
    assert.throws(
      () => resolve(commandLine, file),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  }
});
