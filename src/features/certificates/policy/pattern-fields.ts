import { Fields } from "../../../machinery/command-line/fields.ts";
import { parseIpRange } from "../../../pki/ip-address.ts";
import type { IpRange } from "../../../pki/ip-address.ts";
import { namePattern } from "./name-pattern.ts";
import type { NamePattern } from "./name-pattern.ts";

export interface PatternOptions {
  readonly separator: "." | "/" | "@" | "";
  /** Why a valid pattern is not allowed here. */
  readonly faultOf?: (pattern: string) => string | undefined;
}

/** The fields of a mapping that says which names are allowed. */
export class PatternFields extends Fields {
  override fields(name: string): PatternFields {
    return new PatternFields(this.take(name), { path: this.pathOf(name), faults: this.faults });
  }

  patterns(name: string, { separator, faultOf = () => undefined }: PatternOptions): NamePattern[] | undefined {
    return this.list(name, (value, path) => {
      const text = separator === "." && typeof value === "string" ? value.toLowerCase() : value;
      const pattern = typeof text === "string" ? namePattern(text, separator) : { fault: "must be a string" };
      const fault = "fault" in pattern ? pattern.fault : faultOf(pattern.source);
      if (!("fault" in pattern) && fault === undefined) return pattern;
      this.faults.push(`${path}: ${fault}`);
      return undefined;
    });
  }

  ipRange(value: unknown, path: string): IpRange | undefined {
    const range = typeof value === "string" ? parseIpRange(value) : undefined;
    if (range === undefined) this.faults.push(`${path}: must be an IP address or a range such as 10.0.0.0/8`);
    return range;
  }
}
