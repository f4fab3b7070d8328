import { asError, errorCode, messageOf } from "../api/thrown-error.ts";

interface LoggedError {
  /** The name of the error's class. */
  readonly type: string;
  /** The message, with those of its causes that it does not contain. */
  readonly message: string;
  /** The error code of the system or of Node.js, such as `ENOENT`. */
  readonly code?: string;
  /** Only for a bug, which is hard to find without the stack. */
  readonly stack?: string;
}

const mostCauses = 5;

/** The parts of an error in a line of the log. An expected failure is logged without its stack, because its message explains it. */
export const loggedError = (error: Error): LoggedError => (isBug(error) ? loggedBug(error) : withoutStack(error));

/** The same for an error that the program does not expect, always with its stack. */
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

/** Whether an error is a bug. Expected errors have a class of their own, or a code if they come from the system or OpenSSL. */
const isBug = (error: Error): boolean =>
  error.constructor === Error ? errorCode(error) === "" : faultsOfCode.some((type) => error instanceof type);

const faultsOfCode = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError];
