/** A log whose lines have fields, as pino's loggers are. Keys, tokens and other secrets are never written to it. */
export interface Log {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
