import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keyTypeOption } from "../../../src/machinery/command-line/options.ts";
import { keyTypes } from "../../../src/pki/keys/keys.ts";

describe("the option for the type of a new key", () => {
  const option = keyTypeOption();

  it("has a name for each type of key that can be generated, without blanks", () => {
    const names = ["ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "ed25519", "rsa-2048", "rsa-3072", "rsa-4096"];
    assert.deepEqual(option.argChoices, names);
    assert.deepEqual(
      names.map((name) => option.parseArg?.(name, undefined)),
      keyTypes,
    );
  });

  it("names the types that there are when another is given", () => {
    assert.throws(
      () => option.parseArg?.("dsa", undefined),
      /--key-type: "dsa" is not one of ecdsa-p256, .+, rsa-4096/,
    );
  });
});
