import { UsageError } from "../machinery/command-line/flag.ts";

/** Where a listener without TLS listens. */
export interface PlainAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `ADDRESS:PORT` of a flag. An IPv6 address is in brackets. Throws UsageError. */
export function plainAddress(flag: string, text: string | undefined): PlainAddress | undefined {
  if (text === undefined) return undefined;
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new UsageError(`--${flag}: ${JSON.stringify(text)} must be ADDRESS:PORT, such as 0.0.0.0:8080`);
}
