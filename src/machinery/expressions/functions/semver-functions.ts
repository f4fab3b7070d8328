import type { Environment } from "@marcbachmann/cel-js";
import { addFunctions, parses } from "../add-functions.ts";

/** No version is longer. Upstream has no limit. */
const longestVersion = 1024;

/** A semantic version (https://semver.org), as `github.com/blang/semver` reads it. */
class Semver {
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  /** Throws an Error that says what is wrong. */
  static parse(text: string): Semver {
    if (text === "") throw new Error("Version string empty");
    if (text.length > longestVersion) throw new Error("the version is too long");
    const parts = /^([^.]*)\.([^.]*)\.([^-+]*)(?:-([^+]*))?(?:\+([^]*))?$/.exec(text);
    if (parts === null) throw new Error("No Major.Minor.Patch elements found");
    const [, major = "", minor = "", patch = "", prerelease, build] = parts;
    for (const one of build?.split(".") ?? []) checkIdentifier(one, "Build meta data");
    return new Semver(
      [number(major, "major"), number(minor, "minor"), number(patch, "patch")],
      (prerelease?.split(".") ?? []).map((one) => {
        checkIdentifier(one, "Prerelease");
        if (/^0\d+$/.test(one)) throw new Error(`Numeric PreRelease version must not contain leading zeroes "${one}"`);
        return one;
      }),
    );
  }

  compareTo(other: Semver): bigint {
    for (const [index, one] of this.numbers.entries()) {
      const difference = one - (other.numbers[index] ?? 0n);
      if (difference !== 0n) return difference < 0n ? -1n : 1n;
    }
    // A release has precedence over its prereleases.
    if (this.prerelease.length === 0 || other.prerelease.length === 0) {
      return BigInt(Math.sign(other.prerelease.length - this.prerelease.length));
    }
    for (const [index, one] of this.prerelease.entries()) {
      const against = other.prerelease[index];
      if (against === undefined) return 1n;
      const order = comparePrerelease(one, against);
      if (order !== 0n) return order;
    }
    return this.prerelease.length < other.prerelease.length ? -1n : 0n;
  }

  /** The version without its build metadata, which does not influence precedence. */
  toString(): string {
    return [this.numbers.join("."), ...(this.prerelease.length > 0 ? [this.prerelease.join(".")] : [])].join("-");
  }
}

const isNumeric = (text: string): boolean => /^\d+$/.test(text);

function comparePrerelease(one: string, other: string): bigint {
  if (one === other) return 0n;
  if (isNumeric(one) && isNumeric(other)) return BigInt(one) < BigInt(other) ? -1n : 1n;
  if (isNumeric(one) !== isNumeric(other)) return isNumeric(one) ? -1n : 1n;
  return one < other ? -1n : 1n;
}

function number(text: string, name: string): bigint {
  if (!isNumeric(text)) throw new Error(`Invalid character(s) found in ${name} number ${JSON.stringify(text)}`);
  if (/^0\d/.test(text)) throw new Error(`the ${name} number must not contain leading zeroes ${JSON.stringify(text)}`);
  const value = BigInt(text);
  if (BigInt.asUintN(64, value) !== value) throw new Error(`the ${name} number is out of range`);
  return value;
}

function checkIdentifier(text: string, name: string): void {
  if (text === "") throw new Error(`${name} is empty`);
  if (!/^[0-9A-Za-z-]+$/.test(text)) throw new Error(`Invalid character(s) found in ${name} ${JSON.stringify(text)}`);
}

/** Completes an informal version: removes a leading `v` and leading zeros, and adds missing parts (upstream: `normalizeAndParse`). */
function normalized(text: string): string {
  const [major = "", minor, ...rest] = text.replace(/^v/, "").split(".");
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join(".")])];
  const trimmed = parts.map((part) => (part.length > 1 ? part.replace(/^0+/, "").replace(/^(?!\d)/, "0") : part));
  if (trimmed.length < 3 && /[+-]/.test(trimmed.at(-1) ?? "")) {
    throw new Error("short version cannot contain PreRelease/Build meta data");
  }
  return [...trimmed, "0", "0"].slice(0, 3).join(".");
}

const parse = (text: string, normalize = false): Semver => Semver.parse(normalize ? normalized(text) : text);

const isSemver = parses(parse);

/** Kubernetes' functions for semantic versions. */
export function addSemverFunctions(environment: Environment): void {
  const type = "kubernetes.Semver";
  environment.registerType(type, Semver);
  environment.registerOperator(`${type} == ${type}`, (one: Semver, other: Semver) => one.compareTo(other) === 0n);
  const part = (index: number) => (one: Semver) => BigInt.asIntN(64, one.numbers[index] ?? 0n);
  addFunctions(environment, {
    [`semver(string): ${type}`]: parse,
    [`semver(string, bool): ${type}`]: parse,
    "isSemver(string): bool": isSemver,
    "isSemver(string, bool): bool": isSemver,
    [`${type}.major(): int`]: part(0),
    [`${type}.minor(): int`]: part(1),
    [`${type}.patch(): int`]: part(2),
    [`${type}.isGreaterThan(${type}): bool`]: (one: Semver, other: Semver) => one.compareTo(other) > 0n,
    [`${type}.isLessThan(${type}): bool`]: (one: Semver, other: Semver) => one.compareTo(other) < 0n,
    [`${type}.compareTo(${type}): int`]: (one: Semver, other: Semver) => one.compareTo(other),
  });
}
