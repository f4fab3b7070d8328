/**
 * What was thrown, as text for a log line or a message. Of an error of OpenSSL, the reason. Of one without a message, its code: Node.js
 * has none for a connection that no address of a host takes. Without the advice of Node.js to start Node.js in another way.
 */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error
    ? thrown.message.replace(opensslError, "$1").replace(adviceOfNode, "") || errorCode(thrown)
    : String(thrown);

const adviceOfNode = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** The thread, the number, the library, the function, the reason, and where in its source, with a line feed. */
const opensslError = /(?<![0-9A-F])[0-9A-F]{1,16}:error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]*):.*/s;

/** The code of a system's error, such as `ENOENT`. Empty for anything else that was thrown. */
export const errorCode = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";

/** What was thrown, as an Error: itself where it is one. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
