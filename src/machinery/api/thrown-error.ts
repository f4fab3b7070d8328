/**
 * The text of what was thrown, for a log line or a message. Of an OpenSSL error it is only the reason. Of an error without a message it is
 * the code: Node.js gives no message when every address of a host refuses the connection. Node.js' advice to start it with another flag is
 * left out.
 */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error
    ? thrown.message.replace(opensslError, "$1").replace(adviceOfNode, "") || errorCode(thrown)
    : String(thrown);

const adviceOfNode = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** OpenSSL's error line: thread, number, library, function, reason, place in the source, and a line feed. */
const opensslError = /(?<![0-9A-F])[0-9A-F]{1,16}:error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]*):.*/s;

/** The code of a system's error, such as `ENOENT`. Empty for anything else that was thrown. */
export const errorCode = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";

/** What was thrown, as an Error: itself where it is one. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
