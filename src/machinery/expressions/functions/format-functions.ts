import { Optional } from "@marcbachmann/cel-js";
import type { Environment } from "@marcbachmann/cel-js";
import { labelValueFaults, qualifiedNameFaults } from "../../api/validation/label-validation.ts";
import {
  dns1035LabelFaults,
  dnsLabelFaults,
  dnsSubdomainFaults,
  validateDns1035LabelName,
  validateDnsLabelName,
  validateDnsSubdomainName,
} from "../../api/validation/name-validation.ts";
import { messageOf } from "../../api/thrown-error.ts";
import { addFunctions } from "../add-functions.ts";
import { parseGoUrl } from "./url-functions.ts";

const matching =
  (pattern: RegExp, fault: string) =>
  (text: string): string[] =>
    pattern.test(text) ? [] : [fault];

/** No part of these patterns can match in two ways, so they match in linear time. */
const uuid = /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/;
const base64 = /^(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Upstream takes any character before the fraction. */
const time = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/i;

function isDate(text: string): boolean {
  const day = /^\d{4}-\d{2}-(\d{2})$/.exec(text)?.[1];
  // JavaScript reads the 30th of February as a day in March.
  return day !== undefined && new Date(text).getUTCDate() === Number(day);
}
const isDateTime = (text: string): boolean =>
  isDate(text.slice(0, 10)) && /^t/i.test(text.slice(10)) && time.test(text.slice(11));

function uriFaults(text: string): string[] {
  try {
    parseGoUrl(text, { isRequest: true });
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}

const validators: Readonly<Record<string, (text: string) => string[]>> = {
  dns1123Label: dnsLabelFaults,
  dns1123Subdomain: dnsSubdomainFaults,
  dns1035Label: dns1035LabelFaults,
  qualifiedName: qualifiedNameFaults,
  dns1123LabelPrefix: (text) => validateDnsLabelName(text, { isPrefix: true }),
  dns1123SubdomainPrefix: (text) => validateDnsSubdomainName(text, { isPrefix: true }),
  dns1035LabelPrefix: (text) => validateDns1035LabelName(text, { isPrefix: true }),
  labelValue: labelValueFaults,
  uri: uriFaults,
  uuid: matching(uuid, "does not match the UUID format"),
  byte: matching(base64, "invalid base64"),
  date: (text) => (isDate(text) ? [] : ["invalid date"]),
  datetime: (text) => (isDateTime(text) ? [] : ["invalid datetime"]),
};

class Format {
  readonly validate: (text: string) => string[];

  constructor(validate: (text: string) => string[]) {
    this.validate = validate;
  }
}

/** `format.dns1123Label()` and the others. */
class Formats {
  readonly name = "format";
}

/** Kubernetes' named formats: `!format.dns1123Label().validate(text).hasValue()`. */
export function addFormatFunctions(environment: Environment): void {
  const [format, formats] = ["kubernetes.Format", "kubernetes.Formats"];
  environment
    .registerType(format, Format)
    .registerType(formats, Formats)
    .registerConstant("format", formats, new Formats());
  const known = new Map(Object.entries(validators).map(([name, validate]) => [name, new Format(validate)]));
  addFunctions(environment, {
    ...Object.fromEntries([...known].map(([name, one]) => [`${formats}.${name}(): ${format}`, () => one])),
    [`${formats}.named(string): optional<${format}>`]: (_formats: Formats, name: string) => {
      const found = known.get(name);
      return found === undefined ? Optional.none() : Optional.of(found);
    },
    [`${format}.validate(string): optional<list<string>>`]: (one: Format, text: string) => {
      const faults = one.validate(text);
      return faults.length === 0 ? Optional.none() : Optional.of(faults);
    },
  });
}
