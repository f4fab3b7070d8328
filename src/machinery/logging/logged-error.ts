import { asError, errorCode, messageOf } from "../api/thrown-error.ts";

interface LoggedError {
  /** The name of its class. */
  readonly type: string;
  /** With the messages of its causes that it does not repeat. */
  readonly message: string;
  /** What the system or Node.js calls its error, such as `ENOENT`. */
  readonly code?: string;
  /** Only for a bug, which cannot be found without. */
  readonly stack?: string;
}

const mostCauses = 5;

/** What a line of the log has of an error. A failure that the program expects has no stack: its message says what it is. */
export const loggedError = (error: Error): LoggedError => (isBug(error) ? loggedBug(error) : withoutStack(error));

/** The same of what was thrown where the program expects nothing: with its stack, whatever it is. */
export function loggedBug(thrown: unknown): LoggedError {
  const error = asError(thrown);
  return { ...withoutStack(error), ...(error.stack !== undefined && { stack: error.stack }) };
}

function withoutStack(error: Error): LoggedError {
  const code = errorCode(error);
  return {
    type: error.constructor.name,
    message: messages(error).join(": "),
    ...(code !== "" && { code }),
  };
}

function messages(error: Error): string[] {
  const said: string[] = [];
  let next: unknown = error;
  for (let depth = 0; depth < mostCauses && next instanceof Error; depth++) {
    const message = messageOf(next);
    if (message !== "" && !said.some((one) => one.includes(message))) said.push(message);
    next = next.cause;
  }
  return said;
}

/** What the program throws on purpose is an Error of a class of its own, and what the system and OpenSSL refuse has a code. */
const isBug = (error: Error): boolean =>
  error.constructor === Error ? errorCode(error) === "" : faultsOfCode.some((type) => error instanceof type);

const faultsOfCode = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError];
